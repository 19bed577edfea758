import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engines.ts";
import { get, postLoad } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, median } from "./table.ts";

interface RunPage {
  runs: { id: string; status: string }[];
  nextBefore: string | null;
}

const runs = 5_000;
const repeats = 3;
const message = { agent: "hello", message: "Hello, Rollcall" };

/** Runs a second end to end, and acknowledgements a second beside a bare route with one insert. */
export async function measureThroughput(engine: Engine, script: string): Promise<Figure[]> {
  const acks: number[] = [];
  const bare: number[] = [];
  const ends: number[] = [];
  const tails: string[] = [];
  const yardstick = await startServer("bench/yardstick.ts", [], await engine.fresh());
  const server = await startServer(script, ["start"], await engine.fresh());
  try {
    await postLoad(`${yardstick.url}/insert`, message, 1_000);
    await postLoad(`${server.url}/api/v1/runs`, message, 1_000);
    await settled(server);
    // In turn, so that both sides see the same machine.
    for (let repeat = 0; repeat < repeats; repeat++) {
      bare.push((await postLoad(`${yardstick.url}/insert`, message, runs)).perSecond);
      const startedAt = performance.now();
      const load = await postLoad(`${server.url}/api/v1/runs`, message, runs);
      await settled(server);
      ends.push((runs / (performance.now() - startedAt)) * 1_000);
      acks.push(load.perSecond);
      tails.push(`p50 ${Math.round(load.p50)} ms, p99 ${Math.round(load.p99)} ms`);
      if (load.failed > 0) throw new Error(`${load.failed} requests were not accepted.`);
    }
    await countSucceeded(server, runs * repeats + 1_000);
  } finally {
    await Promise.all([server.stop(), yardstick.stop()]);
  }
  const needed = engine.name === "SQLite" ? 1_000 : 500;
  const ratios = acks.map((ack, index) => ack / (bare[index] ?? ack));
  return [
    {
      what: `runs end to end, ${runs} posted at 50 connections, every one succeeded`,
      engine: engine.name,
      measured: `${Math.round(median(ends))}/s (${ends.map(Math.round).join(", ")})`,
      target: `${needed}/s`,
      met: median(ends) >= needed,
    },
    {
      what: `acknowledgement of POST /runs against a bare Express route with one Knex insert (${tails.at(-1)})`,
      engine: engine.name,
      measured: `${median(ratios).toFixed(2)} × (${acks.map(Math.round).join(", ")} against ${bare.map(Math.round).join(", ")}/s)`,
      target: "1.00 ×",
      met: median(ratios) >= 1,
    },
  ];
}

/** Waits until nothing is queued or running. */
export async function settled(server: Server): Promise<void> {
  for (;;) {
    const open = await Promise.all(
      ["queued", "running"].map((status) =>
        get<RunPage>(`${server.url}/api/v1/runs?status=${status}&limit=1`),
      ),
    );
    if (open.every((page) => page.runs.length === 0)) return;
    await sleep(10);
  }
}

/** Reads every page: what was acknowledged has to be there, once, and to have succeeded. */
async function countSucceeded(server: Server, expected: number): Promise<void> {
  const ids = new Set<string>();
  let before = "";
  for (;;) {
    const page = await get<RunPage>(`${server.url}/api/v1/runs?limit=200${before}`);
    for (const run of page.runs) if (run.status === "succeeded") ids.add(run.id);
    if (page.nextBefore === null) break;
    before = `&before=${page.nextBefore}`;
  }
  if (ids.size !== expected) throw new Error(`${ids.size} runs succeeded; ${expected} were acknowledged.`);
}
