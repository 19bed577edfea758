import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "../src/platform/config.ts";
import { type Database, openDatabase } from "../src/platform/db/index.ts";
import { createIds } from "../src/platform/ids.ts";
import type { Engine } from "./engines.ts";
import { post } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, percentile } from "./table.ts";

const amount = 10_000;
const spreadMs = 60_000;
/** From writing the automations to the first that is due: the service starts meanwhile. */
const leadMs = 8_000;
/** Between the last of those that are spread and those that are due at one instant. */
const gapMs = 5_000;
const giveUpMs = 60_000;

/** Milliseconds. */
interface Lateness {
  p50: number;
  p99: number;
  max: number;
}

/**
 * Automations of one process with all roles that echoes their messages meanwhile. Every clock is this machine's: due times are the
 * ledger's `scheduled_for`, a run is queued at its `created_at`, which the service takes when it orders it.
 */
export async function measureSchedules(engine: Engine, script: string): Promise<Figure[]> {
  const home = await mkdtemp(join(tmpdir(), "rollcall-bench-"));
  const env = { ...(await engine.fresh()), ROLLCALL_HOME: home };
  const db = openDatabase(readConfig({ ...env, ROLLCALL_SECRET_KEY: "0".repeat(64) }).database);
  let server: Server | undefined;
  try {
    const template = await automationRow(script, env, db);
    const first = Date.now() + leadMs;
    const instant = first + spreadMs + gapMs;
    await insert(db, template, (n) => first + (n * spreadMs) / amount);
    await insert(db, template, () => instant);
    server = await startServer(script, ["start"], env);
    if (Date.now() >= first) throw new Error("The service took too long to start.");
    await sleep(instant - Date.now());
    const queuedMs = await untilQueued(db, instant);
    await runsEnded(db);
    await requireEachOnce(db);
    const queued = await latenessOf(db, "created_at", instant);
    const begun = await latenessOf(db, "started_at", instant);
    return figures(engine, { queued, begun, queuedMs });
  } finally {
    await server?.stop();
    await db.close();
    await rm(home, { recursive: true, force: true });
  }
}

function figures(
  engine: Engine,
  { queued, begun, queuedMs }: { queued: Lateness; begun: Lateness; queuedMs: number },
): Figure[] {
  return [
    {
      what: `${amount} automations due over ${spreadMs / 1_000} s, from due to queued, while their runs are executed (p50 ${queued.p50} ms, max ${queued.max} ms; begun p99 ${begun.p99} ms; each ended as one run)`,
      engine: engine.name,
      measured: `p99 ${queued.p99} ms`,
      target: "p99 < 1,000 ms",
      met: queued.p99 < 1_000,
    },
    {
      what: `${amount} automations due at one instant, until all are queued`,
      engine: engine.name,
      measured: `${queuedMs} ms`,
      target: "< 10,000 ms",
      met: queuedMs < 10_000,
    },
  ];
}

/**
 * The row of an automation as the service writes it. The service is stopped afterwards, so that it finds those that
 * are made of it as it does after any start, and not at its next regular sweep.
 */
async function automationRow(
  script: string,
  env: Record<string, string>,
  db: Database,
): Promise<Record<string, unknown>> {
  const server = await startServer(script, ["start"], env);
  try {
    const body = { agent: "hello", schedule: "0 0 1 1 *", message: "Good morning" };
    const { automation } = await post<{ automation: { id: string } }>(
      `${server.url}/api/v1/automations`,
      body,
    );
    const row = await db.read("automations").where({ id: automation.id }).first();
    await db.transaction((tx) => tx("automations").delete());
    return row;
  } finally {
    await server.stop();
  }
}

/** Daily automations of many different minutes, each of which is next at an instant of its own choice. */
async function insert(
  db: Database,
  template: Record<string, unknown>,
  instantOf: (n: number) => number,
): Promise<void> {
  const ids = createIds();
  const rows = Array.from({ length: amount }, (_, n) => {
    const due = Math.floor(instantOf(n));
    // Far from now, so that nothing but the instant that is set comes within the run of the bench.
    const far = new Date(due + 6 * 3_600_000 + (n % 720) * 60_000);
    const schedule = `${far.getUTCMinutes()} ${far.getUTCHours()} * * *`;
    const row = { ...template, id: ids("aut"), schedule, next_run_at: due, due_at: due };
    return { table: "automations", row };
  });
  await db.commit({ rows });
}

/** Milliseconds from the instant until all that are due then are committed to the ledger with their runs. */
async function untilQueued(db: Database, instant: number): Promise<number> {
  for (;;) {
    const row = await db.read("schedule_fires").where({ scheduled_for: instant }).count({ n: "*" }).first();
    const passed = Date.now() - instant;
    if (Number(row?.n) === amount) return passed;
    if (passed > giveUpMs) throw new Error(`After ${passed} ms ${row?.n} of ${amount} were queued.`);
    await sleep(50);
  }
}

async function runsEnded(db: Database): Promise<void> {
  const deadline = performance.now() + giveUpMs;
  while (await db.read("runs").whereIn("status", ["queued", "running"]).first("id")) {
    if (performance.now() > deadline) throw new Error("Runs are still queued or running.");
    await sleep(100);
  }
}

/** Every automation has one row in the ledger, and a run of its own that succeeded. */
async function requireEachOnce(db: Database): Promise<void> {
  const fires = await db
    .read("schedule_fires")
    .join("runs", "runs.id", "schedule_fires.run_id")
    .where({ outcome: "fired", status: "succeeded" })
    .whereRaw("runs.automation_id = schedule_fires.automation_id")
    .select({ automation: "schedule_fires.automation_id", run: "runs.id" });
  const [rows, runs] = await Promise.all(
    ["schedule_fires", "runs"].map(async (table) => (await db.read(table).count({ n: "*" }).first())?.n),
  );
  const automations = new Set(fires.map(({ automation }) => automation)).size;
  const started = new Set(fires.map(({ run }) => run)).size;
  if ([automations, started, Number(rows), Number(runs)].some((count) => count !== 2 * amount))
    throw new Error(
      `Of ${2 * amount} automations ${automations} fired, with ${started} runs that succeeded, ${rows} rows in the ledger and ${runs} runs.`,
    );
}

/** From due until the run's column says, of those that were due before the instant. */
async function latenessOf(
  db: Database,
  column: "created_at" | "started_at",
  before: number,
): Promise<Lateness> {
  const rows: { due: number; at: number }[] = await db
    .read("schedule_fires")
    .join("runs", "runs.id", "schedule_fires.run_id")
    .where("scheduled_for", "<", before)
    .select({ due: "scheduled_for", at: `runs.${column}` });
  const lateness = rows.map(({ due, at }) => at - due);
  return { p50: percentile(lateness, 0.5), p99: percentile(lateness, 0.99), max: Math.max(...lateness) };
}
