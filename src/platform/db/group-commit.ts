import { AppError } from "../errors.ts";
import { CommitInDoubt, isDatabaseAway, isUniqueViolation } from "./db-errors.ts";
import { type Insert, insertsOf, maxTextLength, type Rows } from "./insert-rows.ts";
import type { Tx } from "./queryable.ts";

/**
 * A change that many units make alike, such as ending a run: made for all units of a transaction together, in as few
 * statements as that takes.
 */
export interface Step {
  /** Makes the change for each of the items. False: not for every one of them, and then none counts. */
  readonly apply: (tx: Tx, items: readonly never[]) => Promise<boolean>;
  readonly item: unknown;
  /** What the unit fails with when the change cannot be made for its item. */
  refused(): Error;
}

/** A step of that item. Steps are made together when `apply` is the same function. */
export function step<I>(
  apply: (tx: Tx, items: readonly I[]) => Promise<boolean>,
  item: I,
  refused: () => Error,
): Step {
  return { apply, item, refused };
}

/**
 * A piece of work that shares a transaction with others that are asked for at the same moment. It may be
 * run more than once before it is committed, so `run` changes nothing but the database.
 */
export interface Unit<T> {
  /** Statements; the steps of the unit come after them, and its rows at the end. */
  run?: (tx: Tx) => Promise<T>;
  steps?: readonly Step[];
  /** Merged with the other units' rows into one insert for each table. */
  rows?: Rows;
  /** Called when the transaction is committed. */
  committed?: () => void;
}

interface Waiting {
  unit: Unit<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommitOptions {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  insert(tx: Tx, table: string, rows: readonly Readonly<Record<string, unknown>>[]): Promise<void>;
  /** A transaction of nothing but inserts, where that can be done in one round trip. */
  insertAtOnce?(inserts: readonly Insert[]): Promise<void>;
  /** Whether a row with that `id` is committed. */
  exists(table: string, id: unknown): Promise<boolean>;
  /** Units in one transaction at the most. */
  size: number;
}

/**
 * Commits what is asked for in one turn of the event loop, or while an earlier group is being committed, in
 * one transaction: one flush of the disk serves them all. Each caller is answered after the commit. When a
 * group fails each of its units is run again alone, so that only the one at fault is told so; when the
 * database is away all who wait are told so at once. A group whose commit is in doubt is looked for by one of
 * its rows: they are all there or none is.
 */
export function createGroupCommit(options: GroupCommitOptions) {
  const { transaction, insert, insertAtOnce, exists, size } = options;
  let waiting: Waiting[] = [];
  let running = false;

  /** Answers the whole group. Returns the error when it was that the database is away. */
  async function settle(group: readonly Waiting[], doubted?: Rows[number]): Promise<unknown> {
    const results: unknown[] = [];
    try {
      const inserts = insertAtOnce && insertsAlone(group);
      if (inserts) await insertAtOnce(inserts);
      else await transaction((tx) => runTogether(tx, group, results));
    } catch (error) {
      return settleFailed(group, results, error, doubted);
    }
    answerAll(group, results);
    return undefined;
  }

  async function runTogether(tx: Tx, group: readonly Waiting[], results: unknown[]): Promise<void> {
    results.length = 0;
    for (const { unit } of group) results.push(unit.run ? await unit.run(tx) : undefined);
    for (const alike of mergeSteps(group)) await applyTogether(tx, alike);
    for (const [table, rows] of mergeRows(group)) await insert(tx, table, rows);
  }

  async function applyTogether(tx: Tx, alike: Alike): Promise<void> {
    const items = alike.map(({ item }) => item as never);
    // Which of several was refused is found out by trying each alone.
    if (!(await alike[0].apply(tx, items))) throw alike[0].refused();
  }

  async function settleFailed(
    group: readonly Waiting[],
    results: unknown[],
    error: unknown,
    doubted?: Rows[number],
  ) {
    const cause = error instanceof AppError ? error.cause : undefined;
    if (cause instanceof CommitInDoubt && !doubted) return clearDoubt(group, results, error);
    if (cause instanceof CommitInDoubt || isDatabaseAway(cause)) {
      rejectAll(group, error);
      return error;
    }
    // The commit in doubt was still under way when it was looked for.
    if (doubted && isUniqueViolation(error) && (await isThere(doubted))) answerAll(group, results);
    else if (group.length === 1) rejectAll(group, error);
    else return settleSingly(group);
    return undefined;
  }

  async function settleSingly(group: readonly Waiting[]): Promise<unknown> {
    for (const [index, entry] of group.entries()) {
      const away = await settle([entry]);
      if (away === undefined) continue;
      rejectAll(group.slice(index + 1), away);
      return away;
    }
    return undefined;
  }

  async function clearDoubt(group: readonly Waiting[], results: unknown[], doubt: unknown): Promise<unknown> {
    const witness = group.flatMap(({ unit }) => unit.rows ?? []).find(({ row }) => row.id !== undefined);
    const found = witness && (await isThere(witness));
    if (witness && found === false) return settle(group, witness);
    if (found) answerAll(group, results);
    else rejectAll(group, doubt);
    return found ? undefined : doubt;
  }

  /** Undefined when it cannot be told. The ids of rows are made by us: a row that is there was committed by us. */
  const isThere = ({ table, row }: Rows[number]) => exists(table, row.id).catch(() => undefined);

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const group = waiting.slice(0, size);
      waiting = waiting.slice(size);
      const away = await settle(group);
      // Trying for the next group would let its callers wait twice as long as anybody should.
      if (away !== undefined) rejectAll(waiting.splice(0), away);
    }
    running = false;
  }

  return function commit<T>(unit: Unit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ unit, resolve: resolve as (value: unknown) => void, reject });
      if (!running) void drain();
    });
  };
}

function answerAll(group: readonly Waiting[], results: readonly unknown[]): void {
  for (const [index, { unit, resolve }] of group.entries()) {
    if (unit.committed) callHook(unit.committed);
    resolve(results[index]);
  }
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const entry of group) entry.reject(error);
}

/** The commit stands whatever a hook does: what it throws is shown and goes no further. */
export function callHook(hook: () => void): void {
  try {
    hook();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

/** What a group inserts, when that is all it does and short enough to be sent as one text. */
function insertsAlone(group: readonly Waiting[]): Insert[] | undefined {
  if (group.some(({ unit }) => unit.run || unit.steps)) return undefined;
  const inserts = [...mergeRows(group)].flatMap(([table, rows]) => [...insertsOf(table, rows)]);
  const length = inserts.reduce((sum, insert) => sum + insert.length, 0);
  return length > maxTextLength ? undefined : inserts;
}

type Alike = readonly [Step, ...Step[]];

function mergeSteps(group: readonly Waiting[]): Iterable<Alike> {
  const steps = new Map<Step["apply"], [Step, ...Step[]]>();
  for (const each of group.flatMap(({ unit }) => unit.steps ?? [])) {
    const alike = steps.get(each.apply);
    if (alike) alike.push(each);
    else steps.set(each.apply, [each]);
  }
  return steps.values();
}

function mergeRows(group: readonly Waiting[]) {
  const tables = new Map<string, Readonly<Record<string, unknown>>[]>();
  for (const { unit } of group) {
    for (const { table, row } of unit.rows ?? []) {
      const rows = tables.get(table);
      if (rows) rows.push(row);
      else tables.set(table, [row]);
    }
  }
  return tables;
}
