import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engines.ts";
import { get } from "./load.ts";
import { adminKey, startServer } from "./server.ts";
import { type Figure, percentile } from "./table.ts";

const samples = 300;

/** From the acknowledgement of a run to its start, in a process that does nothing else. */
export async function measureStartLatency(engine: Engine, script: string): Promise<Figure[]> {
  const server = await startServer(script, ["start"], await engine.fresh());
  const waits: number[] = [];
  try {
    for (let sample = 0; sample < samples + 20; sample++) {
      const { id, acknowledgedAt } = await postRun(server.url);
      const { run } = await get<{ run: { startedAt: string } }>(`${server.url}/api/v1/runs/${id}?wait=5`);
      // Both instants are whole milliseconds of one machine's clock.
      if (sample >= 20) waits.push(Math.max(0, Date.parse(run.startedAt) - acknowledgedAt));
      await sleep(5);
    }
  } finally {
    await server.stop();
  }
  const p50 = percentile(waits, 0.5);
  const p99 = percentile(waits, 0.99);
  return [
    {
      what: `from acknowledged to started, idle process, ${samples} runs one at a time`,
      engine: engine.name,
      measured: `p50 ${p50} ms, p99 ${p99} ms`,
      target: "p50 < 5 ms, p99 < 20 ms",
      met: p50 < 5 && p99 < 20,
    },
  ];
}

async function postRun(url: string): Promise<{ id: string; acknowledgedAt: number }> {
  const response = await fetch(`${url}/api/v1/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ agent: "hello", message: "Hello" }),
  });
  const acknowledgedAt = Date.now();
  const { run_id } = (await response.json()) as { run_id: string };
  return { id: run_id, acknowledgedAt };
}
