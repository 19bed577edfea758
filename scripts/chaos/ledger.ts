import { DateTime } from "luxon";

/** Schedules of the run by their text: which minutes of an hour, on the clocks of the zone, they name. */
export const minutesOf = {
  "* * * * *": () => true,
  "*/2 * * * *": (minute: number) => minute % 2 === 0,
  "*/5 * * * *": (minute: number) => minute % 5 === 0,
  "7-59/4 * * * *": (minute: number) => minute >= 7 && (minute - 7) % 4 === 0,
} as const satisfies Record<string, (minute: number) => boolean>;

export type ChaosSchedule = keyof typeof minutesOf;

/** Instants in epoch milliseconds. */
export interface LedgerAutomation {
  id: string;
  schedule: ChaosSchedule;
  timezone: string;
  createdAt: number;
}

export interface LedgerFire {
  automationId: string;
  outcome: string;
  runId: string | null;
  scheduledFor: number;
  firstScheduledFor: number;
  count: number;
}

export interface LedgerRun {
  id: string;
  automationId: string | null;
}

export interface Verdict {
  /** Occurrences from the creation of their automations to the end, or further where a clock was ahead. */
  expected: number;
  fired: number;
  /** Occurrences by outcome, without those that fired. */
  explained: Record<string, number>;
  /** Occurrences that more than one row answers for, and runs that share an occurrence with another one. */
  duplicated: number;
  /** Occurrences that no row answers for. */
  unexplained: number;
  /** Rows whose ends are no occurrences, or that do not count what is between them. */
  wrongRows: number;
  runsWithoutRow: number;
  rowsWithoutRun: number;
  /** The first of what is wrong, for people. */
  examples: string[];
}

const minuteMs = 60_000;
const outcomesWithRun = ["fired", "error"];

/** Every occurrence in (from, to], by looking at every minute; nothing of the service takes part in it. */
export function occurrencesIn(
  { schedule, timezone }: Pick<LedgerAutomation, "schedule" | "timezone">,
  from: number,
  to: number,
): number[] {
  const fits = minutesOf[schedule];
  const instants: number[] = [];
  for (let instant = (Math.floor(from / minuteMs) + 1) * minuteMs; instant <= to; instant += minuteMs)
    if (fits(DateTime.fromMillis(instant, { zone: timezone }).minute)) instants.push(instant);
  return instants;
}

/** Holds the ledger against the occurrences there were until `end`. */
export function judge(
  automations: readonly LedgerAutomation[],
  fires: readonly LedgerFire[],
  runs: readonly LedgerRun[],
  end: number,
): Verdict {
  const verdict: Verdict = {
    ...{ expected: 0, fired: 0, explained: {}, duplicated: 0, unexplained: 0, wrongRows: 0 },
    ...judgeRuns(fires, runs),
  };
  const firesOf = Map.groupBy(fires, ({ automationId }) => automationId);
  for (const automation of automations) judgeOne(verdict, automation, firesOf.get(automation.id) ?? [], end);
  return verdict;
}

function judgeOne(
  verdict: Verdict,
  automation: LedgerAutomation,
  fires: readonly LedgerFire[],
  end: number,
): void {
  // Nothing is due of an automation that was paused because of its owner.
  const blocked = fires.find(({ outcome }) => outcome === "blocked");
  const latest = Math.max(...fires.map(({ scheduledFor }) => scheduledFor));
  const until = blocked ? latest : Math.max(end, latest);
  const answers = new Map<number, LedgerFire[]>(
    occurrencesIn(automation, automation.createdAt, until).map((instant) => [instant, []]),
  );
  for (const fire of fires) {
    const { firstScheduledFor, scheduledFor, count } = fire;
    const covered = occurrencesIn(automation, firstScheduledFor - 1, scheduledFor);
    const fits = covered[0] === firstScheduledFor && covered.at(-1) === scheduledFor;
    if (!fits || covered.length !== count) note(verdict, "wrongRows", automation, scheduledFor, [fire]);
    for (const instant of covered) answers.get(instant)?.push(fire);
  }
  for (const [instant, rows] of answers) {
    verdict.expected++;
    const [first] = rows.toSorted((a, b) => Number(b.outcome === "fired") - Number(a.outcome === "fired"));
    if (!first) note(verdict, "unexplained", automation, instant, rows);
    else if (first.outcome === "fired") verdict.fired++;
    else verdict.explained[first.outcome] = (verdict.explained[first.outcome] ?? 0) + 1;
    if (rows.length > 1) note(verdict, "duplicated", automation, instant, rows);
  }
}

function judgeRuns(fires: readonly LedgerFire[], runs: readonly LedgerRun[]) {
  const automationOf = new Map(runs.map(({ id, automationId }) => [id, automationId]));
  const told = fires.filter(({ outcome }) => outcomesWithRun.includes(outcome));
  const rowsWithoutRun = told.filter(
    ({ runId, automationId }) => runId === null || automationOf.get(runId) !== automationId,
  );
  const named = new Set(told.map(({ runId }) => runId));
  const runsWithoutRow = runs.filter(({ id }) => !named.has(id));
  const examples = [
    ...rowsWithoutRun.slice(0, 3).map((fire) => `without a run: ${JSON.stringify(fire)}`),
    ...runsWithoutRow.slice(0, 3).map((run) => `without a row: ${JSON.stringify(run)}`),
  ];
  return { rowsWithoutRun: rowsWithoutRun.length, runsWithoutRow: runsWithoutRow.length, examples };
}

function note(
  verdict: Verdict,
  what: "unexplained" | "duplicated" | "wrongRows",
  { id, schedule, timezone }: LedgerAutomation,
  instant: number,
  fires: readonly LedgerFire[],
): void {
  verdict[what]++;
  if (verdict.examples.length < 20)
    verdict.examples.push(
      `${what}: ${id} (${schedule} ${timezone}) at ${new Date(instant).toISOString()} ${JSON.stringify(fires)}`,
    );
}

/** Whether the ledger kept its promise. */
export const isKept = (verdict: Verdict): boolean =>
  verdict.duplicated +
    verdict.unexplained +
    verdict.wrongRows +
    verdict.runsWithoutRow +
    verdict.rowsWithoutRun ===
  0;
