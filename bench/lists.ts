import { join } from "node:path";
import { type Database, openDatabase } from "../src/platform/db/index.ts";
import { createIds } from "../src/platform/ids.ts";
import { sha256 } from "../src/platform/secrets.ts";
import type { Engine } from "./engines.ts";
import { get } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, median } from "./table.ts";

const requests = 400;
const rowsAtOnce = 500;

/** The first page of a list in a small and in a large workspace, asked for in turn. */
export async function measureLists(engine: Engine, script: string): Promise<Figure[]> {
  const small = await startWith(engine, script, 1_000, 100);
  const large = await startWith(engine, script, 200_000, 10_000);
  try {
    return [
      await compare(
        "GET /runs, first page: 200,000 runs against 1,000",
        "/api/v1/runs",
        engine,
        small,
        large,
      ),
      await compare("GET /runs?status=failed: the same", "/api/v1/runs?status=failed", engine, small, large),
      await compare(
        "GET /agents, first page: 10,000 agents against 100",
        "/api/v1/agents",
        engine,
        small,
        large,
      ),
    ];
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

async function compare(
  what: string,
  path: string,
  engine: Engine,
  small: Server,
  large: Server,
): Promise<Figure> {
  const times: { small: number[]; large: number[] } = { small: [], large: [] };
  for (let request = 0; request < requests; request++) {
    times.small.push(await timed(small.url + path));
    times.large.push(await timed(large.url + path));
  }
  const [few, many] = [median(times.small.slice(50)), median(times.large.slice(50))];
  return {
    what,
    engine: engine.name,
    measured: `${(many / few).toFixed(2)} × (median ${many.toFixed(2)} ms against ${few.toFixed(2)} ms)`,
    target: "≤ 1.20 ×",
    met: many / few <= 1.2,
  };
}

async function timed(url: string): Promise<number> {
  const startedAt = performance.now();
  await get(url);
  return performance.now() - startedAt;
}

async function startWith(engine: Engine, script: string, runs: number, agents: number): Promise<Server> {
  const env = await engine.fresh();
  const server = await startServer(script, ["start"], env);
  const db = openDatabase(
    env.DATABASE_URL
      ? { engine: "mysql", url: env.DATABASE_URL }
      : { engine: "sqlite", path: join(server.home, "rollcall.sqlite") },
  );
  await addRuns(db, runs);
  await addAgents(db, agents);
  await db.close();
  return server;
}

/** Runs of many agents and statuses, one in ten of them failed. */
async function addRuns(db: Database, count: number): Promise<void> {
  const { id: workspaceId } = await db.read("workspaces").first("id");
  const ids = createIds();
  const makeRow = (number: number) => ({
    id: ids("run"),
    workspace_id: workspaceId,
    agent: `agent-${number % 40}`,
    framework: "ai-sdk",
    version: "draft",
    commit_sha: "0".repeat(40),
    spec_sha: "0".repeat(64),
    status: number % 10 === 0 ? "failed" : "succeeded",
    trigger: number % 7 === 0 ? "eval" : "api",
    listed: number % 7 === 0 ? 0 : 1,
    environment: "development",
    run_as: "admin",
    message: "A message of ordinary length, as a person would write it.",
    output: "An answer of ordinary length, as an agent would write it.",
    model: "offline/echo",
    tokens_input: 20,
    tokens_output: 20,
    tokens_cached: 0,
    cost_usd: 0,
    failure_code: number % 10 === 0 ? "timeout" : null,
    created_at: Date.now(),
    started_at: Date.now(),
    finished_at: Date.now(),
    attempt: 1,
    tool_calls: 0,
  });
  await insertMany(db, "runs", count, makeRow);
}

async function addAgents(db: Database, count: number): Promise<void> {
  const template = await db.read("agents").where({ name: "hello" }).first();
  await insertMany(db, "agents", count, (number) => {
    const name = `bench-${String(number).padStart(6, "0")}`;
    const path = `agents/ai-sdk/${name}.yaml`;
    return { ...template, name, path, path_hash: sha256(path), agent_group: name };
  });
}

async function insertMany(
  db: Database,
  table: string,
  count: number,
  makeRow: (number: number) => Record<string, unknown>,
) {
  for (let from = 0; from < count; from += rowsAtOnce) {
    const rows = Array.from({ length: Math.min(rowsAtOnce, count - from) }, (_, index) => ({
      table,
      row: makeRow(from + index),
    }));
    await db.commit({ rows });
  }
}
