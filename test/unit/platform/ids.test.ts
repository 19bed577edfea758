import { expect, it } from "vitest";
import { createIds, idFloor } from "../../../src/platform/ids.ts";

it("ids of one process are unique and sort by the moment they were made", () => {
  const ids = createIds();
  const made = Array.from({ length: 5_000 }, () => ids("run"));
  expect(made[0]).toMatch(/^run_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
});

it("the floor of an instant is below every id made from then on and above those made before", () => {
  const before = createIds()("run");
  // The floor of the millisecond after the first id's own, which its first ten characters tell.
  const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const instant = [...before.slice(4, 14)].reduce((sum, digit) => sum * 32 + digits.indexOf(digit), 0);
  expect(idFloor("run", instant) <= before).toBe(true);
  expect(before < idFloor("run", instant + 1)).toBe(true);
  expect(idFloor("run", 0)).toBe(`run_${"0".repeat(26)}`);
  expect(idFloor("run", 1_000) < idFloor("run", 1_001)).toBe(true);
});
