import { type AgentSpec, RunFailure } from "../frameworks/index.ts";
import type { BudgetSettings } from "../settings/index.ts";

/** What the cost of runs is summed up by. */
export type Scope = "agent" | "member" | "workspace";

/** One sum: what the runs of an agent, as a member or of the workspace have cost in a period. */
export interface Account {
  scope: Scope;
  /** The agent's name or the member's login; '' for the workspace. */
  name: string;
  /** A day or a month in UTC: `2026-11-21` or `2026-11`. */
  period: string;
}

const capOf = {
  agent: "usdPerAgentDay",
  member: "usdPerMemberDay",
  workspace: "usdPerWorkspaceMonth",
} as const satisfies Record<Scope, keyof BudgetSettings>;

export const capNames = ["usdPerRun", ...Object.values(capOf)] as const;
export type CapName = (typeof capNames)[number];

export const budgetStates = ["ok", "warning", "exceeded"] as const;
export type BudgetState = (typeof budgetStates)[number];

/** What the runs of an account may cost in its period. */
export interface Cap extends Account {
  amountUsd: number;
}

/** A cap, or the one on a single run, beside what was spent of it. */
export interface Budget {
  cap: CapName;
  /** The agent's name or the member's login; null for a run and for the workspace. */
  of: string | null;
  amountUsd: number;
  usedUsd: number;
  /** RFC 3339; null for a run. */
  resetsAt: string | null;
}

type SpecBudget = AgentSpec["budget"];

/**
 * The sums that a cost is added to when it is stored at an instant (epoch milliseconds). `agent` is null for model
 * calls that are no part of a run of one.
 */
export function accountsOf(
  { agent, runAs }: { agent: string | null; runAs: string },
  now: number,
): Account[] {
  return [
    ...(agent === null ? [] : [{ scope: "agent", name: agent, period: dayOf(now) } as const]),
    { scope: "member", name: runAs, period: dayOf(now) },
    { scope: "workspace", name: "", period: monthOf(now) },
  ];
}

/** Those of the accounts that have a cap. What a spec says of its agent goes before the workspace's default. */
export function capsOn(accounts: readonly Account[], limits: BudgetSettings, spec: SpecBudget): Cap[] {
  return accounts.flatMap((account) => {
    const amountUsd = amountFor(account.scope, limits, spec);
    return amountUsd === null ? [] : [{ ...account, amountUsd }];
  });
}

export function amountFor(scope: Scope, limits: BudgetSettings, spec: SpecBudget): number | null {
  return (scope === "agent" ? spec?.usdPerDay : undefined) ?? limits[capOf[scope]];
}

export function budgetOf({ scope, name, period, amountUsd }: Cap, usedUsd: number): Budget {
  return {
    cap: capOf[scope],
    of: scope === "workspace" ? null : name,
    amountUsd,
    usedUsd,
    resetsAt: endOf(period),
  };
}

/** The cap on a single run, if there is one. */
export function runBudget(limits: BudgetSettings, spec: SpecBudget, costUsd: number): Budget | undefined {
  const amountUsd = spec?.usdPerRun ?? limits.usdPerRun;
  return amountUsd === null
    ? undefined
    : { cap: "usdPerRun", of: null, amountUsd, usedUsd: costUsd, resetsAt: null };
}

/** `exceeded` as soon as nothing is left: no run may start then. */
export function stateOf(
  { amountUsd, usedUsd }: Pick<Budget, "amountUsd" | "usedUsd">,
  warnAt: number,
): BudgetState {
  const used = toNano(usedUsd);
  if (used >= toNano(amountUsd)) return "exceeded";
  return used >= toNano(amountUsd * warnAt) ? "warning" : "ok";
}

/** Whether a run that is under way has to stop: what was spent to the last cent is paid for and may be used. */
export const isOverdrawn = ({ amountUsd, usedUsd }: Budget) => toNano(usedUsd) > toNano(amountUsd);

/** A cap does not let work go on. The details are for workspace admins, `refusal` is for whoever asked for the work. */
export class BudgetExceeded extends RunFailure {
  readonly refusal: string;

  constructor(budget: Budget) {
    super("budget_exceeded", `${spentSentence(budget)} ${capSentence(budget)}`);
    this.refusal = refusalOf(budget);
  }
}

/** Throws `budget_exceeded` when a run outside of the service has cost more than its spec allows. */
export function checkSpecBudget(spec: SpecBudget, costUsd: number): void {
  const amounts = [spec?.usdPerRun, spec?.usdPerDay].filter((amount) => amount !== undefined);
  if (amounts.length === 0) return;
  const budget: Budget = {
    cap: "usdPerRun",
    of: null,
    amountUsd: Math.min(...amounts),
    usedUsd: costUsd,
    resetsAt: null,
  };
  if (isOverdrawn(budget)) throw new BudgetExceeded(budget);
}

/** Why a run is refused, for whoever asked for it. */
export function refusalOf({ cap, of, resetsAt }: Budget): string {
  const whose = {
    usdPerRun: "of the run",
    usdPerAgentDay: `a day of the agent ${of}`,
    usdPerMemberDay: `a day of ${of}`,
    usdPerWorkspaceMonth: "a month of the workspace",
  }[cap];
  return `The budget ${whose} is used up; wait until ${resetsAt} or have it raised.`;
}

function spentSentence({ cap, of, usedUsd }: Budget): string {
  switch (cap) {
    case "usdPerRun":
      return `The run cost ${usedUsd} USD.`;
    case "usdPerAgentDay":
      return `The runs of the agent ${of} cost ${usedUsd} USD today.`;
    case "usdPerMemberDay":
      return `The runs as ${of} cost ${usedUsd} USD today.`;
    case "usdPerWorkspaceMonth":
      return `The runs of the workspace cost ${usedUsd} USD this month.`;
  }
}

const capSentence = ({ cap, amountUsd, resetsAt }: Budget) =>
  `The budget ${cap} is ${amountUsd} USD${resetsAt === null ? "" : `, until ${resetsAt}`}.`;

/** A sum of dollars without the dust that binary fractions leave behind. */
export function addUsd(a: number, b: number): number {
  return Math.round((a + b) * 1e12) / 1e12;
}

/** Dollars as they are summed up: prices by the million tokens are whole billionths. */
export const toNano = (usd: number) => Math.round(usd * 1e9);
export const fromNano = (nano: number) => nano / 1e9;

export const dayOf = (now: number) => new Date(now).toISOString().slice(0, 10);
export const monthOf = (now: number) => new Date(now).toISOString().slice(0, 7);

/** When the day or month is over. */
export function endOf(period: string): string {
  const [year = 0, month = 1, day] = period.split("-").map(Number);
  const end = day === undefined ? Date.UTC(year, month) : Date.UTC(year, month - 1, day + 1);
  return new Date(end).toISOString();
}
