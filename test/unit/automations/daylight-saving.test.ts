import { readFileSync } from "node:fs";
import { DateTime, IANAZone } from "luxon";
import { describe, expect, it } from "vitest";
import { createSchedules } from "../../../src/automations/cron.ts";
import { toZonedInstant } from "../../../src/automations/present.ts";

const minute = 60_000;
const hour = 60 * minute;
/** All expressions below, all offsets and all transitions fall on multiples of this. */
const grid = 5 * minute;

interface Local {
  instant: number;
  /** Year, month, day. */
  date: string;
  month: number;
  day: number;
  weekday: number;
  /** Minutes since midnight as a clock shows them. */
  clock: number;
}

/** An expression taken apart by hand: which clock times and which days it means. */
interface Expression {
  text: string;
  times(clock: number): boolean;
  days?(local: Local): boolean;
  /** The one clock time of those with a single hour and minute. */
  fixed?: number;
}

const at = (hours: number, minutes: number) => hours * 60 + minutes;
const fixed = (text: string, time: number, days?: Expression["days"]): Expression => ({
  ...{ text, fixed: time, times: (clock) => clock === time },
  ...(days ? { days } : {}),
});

const expressions: Expression[] = [
  fixed("30 2 * * *", at(2, 30)),
  fixed("0 2 * * *", at(2, 0)),
  fixed("0 0 * * *", 0),
  fixed("15 3 * * *", at(3, 15)),
  fixed("30 1 * * 0", at(1, 30), ({ weekday }) => weekday === 7),
  fixed("0 0 1 * *", 0, ({ day }) => day === 1),
  fixed("@daily", 0),
  { text: "0 * * * *", times: (clock) => clock % 60 === 0 },
  { text: "*/15 * * * *", times: (clock) => clock % 15 === 0 },
  { text: "0 */2 * * *", times: (clock) => clock % 120 === 0 },
  { text: "30 1,2 * * *", times: (clock) => clock === at(1, 30) || clock === at(2, 30) },
  { text: "15,45 0-3 * * *", times: (clock) => clock < at(4, 0) && clock % 30 === 15 },
  fixed(
    "10 2 30 3,10 SUN",
    at(2, 10),
    ({ day, weekday, month }) => [3, 10].includes(month) && (day === 30 || weekday === 7),
  ),
];

const zones = [
  ...["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Cairo"],
  ...["America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu"],
];

function localsOf(zone: string, from: number, until: number): Local[] {
  const locals: Local[] = [];
  for (let instant = from; instant <= until; instant += grid) {
    const {
      year,
      month,
      day,
      weekday,
      hour: hours,
      minute: minutes,
    } = DateTime.fromMillis(instant, { zone });
    locals.push({ instant, date: `${year}-${month}-${day}`, month, day, weekday, clock: at(hours, minutes) });
  }
  return locals;
}

/** What docs/schedules.md promises, by looking at every clock time there was. */
function promised({ times, days = () => true, fixed: time }: Expression, locals: readonly Local[]): number[] {
  if (time === undefined)
    return locals.filter((each) => times(each.clock) && days(each)).map(({ instant }) => instant);
  return [...Map.groupBy(locals, ({ date }) => date).values()].flatMap((day) => {
    if (!day[0] || !days(day[0])) return [];
    const exact = day.find(({ clock }) => clock === time);
    // A day that only begins after that time has it in a gap, too.
    const after = day.find(({ clock }) => clock > time);
    return exact ? [exact.instant] : after ? [after.instant] : [];
  });
}

/** Instants at which the zone's offset changes. */
function transitionsOf(zone: string, from: number, until: number): number[] {
  const { offset } = { offset: (instant: number) => IANAZone.create(zone).offset(instant) };
  const found: number[] = [];
  for (let day = from; day < until; day += 24 * hour) {
    let [low, high] = [day, day + 24 * hour];
    if (offset(low) === offset(high)) continue;
    while (high - low > minute) {
      const middle = low + Math.floor((high - low) / 2 / minute) * minute;
      if (offset(middle) === offset(low)) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

const schedules = createSchedules();

/** Occurrences after `from` up to `until`. */
function occurrences(text: string, zone: string, from: number, until: number): number[] {
  const schedule = schedules(text, zone);
  const found: number[] = [];
  for (
    let next = schedule.nextAfter(from);
    next !== undefined && next <= until;
    next = schedule.nextAfter(next)
  )
    found.push(next);
  return found;
}

const readable = (zone: string, instants: readonly number[]) =>
  instants.map((each) => toZonedInstant(each, zone));

describe.each(zones)("ten years of %s", (zone) => {
  const decade = transitionsOf(zone, Date.UTC(2010, 0), Date.UTC(2020, 0));
  const later = zone === "Africa/Cairo" ? transitionsOf(zone, Date.UTC(2023, 0), Date.UTC(2027, 0)) : [];
  const looked = [...decade, ...later, Date.UTC(2026, 5, 1)];

  it("has the transitions that it is tested for", () => {
    expect(decade.length).toBeGreaterThanOrEqual(zone === "Asia/Kathmandu" ? 0 : 3);
    if (zone === "Pacific/Apia") expect(decade).toContain(Date.UTC(2011, 11, 30, 10));
  });

  it("fires when it is promised to, around every change of the clocks", () => {
    for (const transition of looked) {
      const [from, until] = [transition - 6 * hour, transition + 18 * hour];
      const locals = localsOf(zone, from - 25 * hour, until + 25 * hour);
      for (const expression of expressions) {
        const expected = promised(expression, locals).filter((each) => each > from && each <= until);
        const found = occurrences(expression.text, zone, from, until);
        expect(readable(zone, found), `${expression.text} in ${zone}`).toEqual(readable(zone, expected));
      }
    }
  });

  it("looks back as it looks ahead", () => {
    for (const transition of looked) {
      for (const { text } of expressions) {
        const [from, until] = [transition - 3 * hour, transition + 3 * hour];
        const ahead = occurrences(text, zone, from, until);
        const schedule = schedules(text, zone);
        const back = ahead.map((each) => [schedule.latestUpTo(each), schedule.latestUpTo(each + grid - 1)]);
        expect(back, `${text} in ${zone}`).toEqual(ahead.map((each) => [each, each]));
      }
    }
  });
});

describe("the table of docs/schedules.md", () => {
  const text = readFileSync(new URL("../../../docs/schedules.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (\S+) \| (\d{4}-\d\d-\d\d) \| ([^|]+) \|/gm)];

  it("has rows", () => {
    expect(rows.length).toBeGreaterThan(8);
  });

  it.each(
    rows.map(([, expression = "", zone = "", date = "", fires = ""]) => ({ expression, zone, date, fires })),
  )("$expression in $zone on $date", ({ expression, zone, date, fires }) => {
    const noon = DateTime.fromISO(date, { zone: "UTC" }).toMillis() + 12 * hour;
    const found = readable(zone, occurrences(expression, zone, noon - 40 * hour, noon + 40 * hour));
    const promisedTimes = [...fires.matchAll(/`(\d\d:\d\d)(?:Z|([+-]\d\d:\d\d))`/g)];
    expect(found.filter((each) => each.startsWith(date))).toEqual(
      promisedTimes.map(([, time, offset = "+00:00"]) => `${date}T${time}:00${offset}`),
    );
  });
});
