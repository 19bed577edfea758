import { createHmac } from "node:crypto";
import type { Engine } from "./engines.ts";
import { get, type Load, post, postLoad } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, median } from "./table.ts";
import { settled } from "./throughput.ts";

interface RunPage {
  runs: { id: string; status: string; webhookId?: string }[];
  nextBefore: string | null;
}

const calls = 10_000;
const warmUp = 2_000;
const repeats = 3;
const secret = "bench-webhook-secret-0123456789-0123";
const payload = { event: "order.created", order: { id: 4711, items: ["a", "b", "c"], total: 129.9 } };

/** Calls of one webhook at 50 connections beside a bare server; afterwards every accepted call is one run that succeeded. */
export async function measureWebhooks(engine: Engine, script: string): Promise<Figure[]> {
  const yardstick = await startServer("bench/webhook-yardstick.ts", [], { WEBHOOK_SECRET: secret });
  const env = { ...(await engine.fresh()), ROLLCALL_WEBHOOK_RATE_LIMIT: "1000000" };
  const server = await startServer(script, ["start"], env);
  const bare: Load[] = [];
  const ours: Load[] = [];
  try {
    const { webhook, token } = await post<{ webhook: { id: string }; token: string }>(
      `${server.url}/api/v1/agents/hello/webhooks`,
      { name: "bench" },
    );
    const callOurs = (amount: number) =>
      postLoad(`${server.url}/api/hooks/webhook/${webhook.id}`, payload, amount, {
        authorization: `Bearer ${token}`,
      });
    const signature = createHmac("sha256", secret).update(JSON.stringify(payload)).digest("hex");
    const callBare = (amount: number) =>
      postLoad(yardstick.url, payload, amount, { "x-signature": signature });
    await callBare(warmUp);
    await callOurs(warmUp);
    await settled(server);
    // In turn, so that both sides see the same machine.
    for (let repeat = 0; repeat < repeats; repeat++) {
      bare.push(await callBare(calls));
      ours.push(await callOurs(calls));
      await settled(server);
    }
    const failed = [...bare, ...ours].reduce((sum, load) => sum + load.failed, 0);
    if (failed > 0) throw new Error(`${failed} calls were not accepted.`);
    await countRuns(server, webhook.id, warmUp + repeats * calls);
  } finally {
    await Promise.all([server.stop(), yardstick.stop()]);
  }
  return [figure(engine, ours, bare)];
}

function figure(engine: Engine, ours: readonly Load[], bare: readonly Load[]): Figure {
  const ratios = ours.map((load, index) => load.perSecond / (bare[index]?.perSecond ?? Number.NaN));
  const needed = engine.name === "SQLite" ? 1 : 0.5;
  const rates = (loads: readonly Load[]) => loads.map((load) => Math.round(load.perSecond)).join(", ");
  const p99 = (loads: readonly Load[]) => Math.round(median(loads.map((load) => load.p99)));
  return {
    what: `webhook calls at 50 connections, acknowledged, against a bare server with an HMAC and a durable SQLite insert (p99 ${p99(ours)} ms against ${p99(bare)} ms; every one of ${warmUp + repeats * calls} ended as one run)`,
    engine: engine.name,
    measured: `${median(ratios).toFixed(2)} × (${rates(ours)} against ${rates(bare)}/s)`,
    target: `${needed.toFixed(2)} ×`,
    met: median(ratios) >= needed,
  };
}

/** Reads every page: what was accepted has to be there, once, and to have succeeded. */
async function countRuns(server: Server, webhookId: string, expected: number): Promise<void> {
  const done = new Set<string>();
  let listed = 0;
  let before = "";
  for (;;) {
    const page = await get<RunPage>(`${server.url}/api/v1/runs?trigger=webhook&limit=200${before}`);
    listed += page.runs.length;
    for (const run of page.runs)
      if (run.status === "succeeded" && run.webhookId === webhookId) done.add(run.id);
    if (page.nextBefore === null) break;
    before = `&before=${page.nextBefore}`;
  }
  if (done.size !== expected || listed !== expected)
    throw new Error(`Of ${listed} runs ${done.size} succeeded; ${expected} calls were accepted.`);
}
