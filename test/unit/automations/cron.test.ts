import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSchedules, isTimeZone, nicknames, requireSchedule } from "../../../src/automations/cron.ts";
import { dueOccurrences, missedBefore, mostCounted } from "../../../src/automations/next-occurrence.ts";
import { toZonedInstant } from "../../../src/automations/present.ts";
import { CreateAutomation } from "../../../src/automations/schema.ts";
import { AppError } from "../../../src/platform/errors.ts";

const now = Date.parse("2026-03-02T08:30:00Z");
const schedules = createSchedules();

function refusal(expression: string, timezone = "UTC"): AppError | undefined {
  try {
    requireSchedule(schedules, expression, timezone, now);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

describe("schedules", () => {
  it.each(["* * * * *", "*/5 9-17 * * MON-FRI", "0 0 29 2 *", "0 9 1 * +MON", "0 0 L * *", "0 9 * * MON#1"])(
    "may be %s",
    (expression) => expect(refusal(expression)).toBeUndefined(),
  );

  it.each(nicknames)("may be %s", (name) => expect(refusal(name)).toBeUndefined());

  it.each([
    ...["", "*", "0 9 * *", "0 0 9 * * *", "0 0 9 * * * 2026", "H H * * *", "5/10 * * * *", "60 * * * *"],
    ...["22-2 * * * *", "1,,2 * * * *", "-1 * * * *", "1.5 * * * *", "@reboot", "@every 5m", "@Daily"],
    ...["@daily @daily", "2026-03-02T10:00:00Z", "０ 9 * * *"],
  ])("may not be %j, which is said of the field", (expression) => {
    expect(refusal(expression)).toMatchObject({
      status: 400,
      details: [{ path: "schedule", message: expect.stringMatching(/five parts/) }],
    });
  });

  it.each(["0 0 31 2 *", "0 0 30 2 *", "0 0 29 2 +MON"])(
    "that never fire soon are refused: %s",
    (expression) => {
      expect(refusal(expression)?.status).toBe(422);
    },
  );

  it("have single spaces and at most 100 characters", () => {
    const read = (schedule: string) => CreateAutomation.safeParse({ agent: "a", schedule });
    expect(read(" 0\t9 * *  MON\n").data?.schedule).toBe("0 9 * * MON");
    expect(read(`${"0,".repeat(60)}0 9 * * *`).success).toBe(false);
  });

  it("never fail otherwise than by a refusal, whatever they are", () => {
    const part = fc.oneof(fc.string({ maxLength: 8 }), fc.stringMatching(/^[-*/,0-9LW#?+A-Z]{1,6}$/));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 7 }), (parts) => {
        const expression = parts.join(" ").trim();
        if (refusal(expression)) return;
        const schedule = schedules(expression, "UTC");
        const next = schedule.nextAfter(now) ?? 0;
        expect(next).toBeGreaterThan(now);
        expect(schedule.latestUpTo(next)).toBe(next);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("time zones", () => {
  it.each(["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kathmandu", "Etc/GMT+3"])(
    "may be %s",
    (zone) => expect([isTimeZone(zone), refusal("0 9 * * *", zone)]).toEqual([true, undefined]),
  );

  it.each(["", "Mars/Olympus", "+05:30", "UTC+3", "Europe/Berlin ", "../etc", "Europe//Berlin"])(
    "may not be %j",
    (zone) => {
      expect(isTimeZone(zone)).toBe(false);
      expect(refusal("0 9 * * *", zone)).toMatchObject({ status: 400, details: [{ path: "timezone" }] });
    },
  );

  it.each([
    ["2026-07-01T12:00:00Z", "America/New_York", "2026-07-01T08:00:00-04:00"],
    ["2026-07-01T12:00:00Z", "Asia/Kathmandu", "2026-07-01T17:45:00+05:45"],
    ["2026-07-01T12:00:00Z", "UTC", "2026-07-01T12:00:00+00:00"],
  ])("%s in %s is shown as %s", (instant, zone, shown) => {
    expect(toZonedInstant(Date.parse(instant), zone)).toBe(shown);
    expect(Date.parse(shown)).toBe(Date.parse(instant));
  });
});

describe("what is due", () => {
  const quarterly = schedules("*/15 * * * *", "UTC");
  const at = (time: string) => Date.parse(`2026-03-02T${time}Z`);

  it("on time is the occurrence itself", () => {
    expect(dueOccurrences(quarterly, at("09:00"), at("09:00"))).toEqual({
      ...{ latest: at("09:00"), coalesced: undefined, next: at("09:15") },
    });
  });

  it("late is the latest, with a range for those before it", () => {
    const { latest, coalesced, next } = dueOccurrences(quarterly, at("09:00"), at("10:14"));
    expect([latest, next]).toEqual([at("10:00"), at("10:15")]);
    expect([coalesced?.first, coalesced?.last, coalesced?.count()]).toEqual([at("09:00"), at("09:45"), 4]);
  });

  it("comes from the schedule, not from when it was looked at: nothing drifts", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 40 * 60_000 }), { minLength: 1, maxLength: 20 }),
        (delays) => {
          let scheduled = at("09:00");
          for (const delay of delays) {
            const due = dueOccurrences(quarterly, scheduled, scheduled + delay);
            const missed = due.coalesced?.count() ?? 0;
            expect(due.latest).toBe(scheduled + missed * 900_000);
            expect(due.next).toBe(due.latest + 900_000);
            scheduled = due.next ?? 0;
          }
        },
      ),
    );
  });

  it("also of an instant that the schedule does not have, as after its zone's rules have changed", () => {
    expect(dueOccurrences(quarterly, at("09:07"), at("09:08"))).toMatchObject({ latest: at("09:07") });
  });

  it("is counted up to a limit, and has its whole range all the same", () => {
    const missed = missedBefore(schedules("* * * * *", "UTC"), at("00:00"), at("00:00") + 5_000 * 60_000);
    expect([missed.count(), missed.last]).toEqual([mostCounted, at("00:00") + 4_999 * 60_000]);
  });
});
