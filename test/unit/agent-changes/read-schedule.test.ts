import { expect, it } from "vitest";
import { readSchedule } from "../../../src/agent-changes/read-schedule.ts";

it.each([
  ["Summarise the inbox every weekday at nine.", "0 9 * * 1-5"],
  ["Summarise the inbox every working day at 9:30", "30 9 * * 1-5"],
  ["Each Monday at 14:05 send the report", "5 14 * * 1"],
  ["Send the report on Fridays at 5 pm", "0 17 * * 5"],
  ["every day at half past seven", "30 7 * * *"],
  ["daily at noon", "0 12 * * *"],
  ["every morning", "0 9 * * *"],
  ["every evening at eight in the evening", "0 20 * * *"],
  ["Check the queue hourly", "0 * * * *"],
  ["every weekend at 12 am", "0 0 * * 6,0"],
  ["monthly, at 8am", "0 8 1 * *"],
  ["every week", "0 9 * * 1"],
  ["every day at 99:99", "0 9 * * *"],
])("reads %j", (text, schedule) => {
  expect(readSchedule(text)).toEqual({ schedule });
});

it("reads a time zone that is named", () => {
  expect(readSchedule("Every Sunday at 6, Europe/Berlin time")).toEqual({
    schedule: "0 6 * * 0",
    timezone: "Europe/Berlin",
  });
  expect(readSchedule("daily at 6 UTC")).toEqual({ schedule: "0 6 * * *", timezone: "UTC" });
});

it.each(["Answers questions about everyday life", "Call me on Monday", "Look at nine tickets", ""])(
  "finds none in %j",
  (text) => {
    expect(readSchedule(text)).toBeUndefined();
  },
);
