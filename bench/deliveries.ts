import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import autocannon, { type Instance } from "autocannon";
import { createTestRepository } from "../test/support/git-repository.ts";
import { pushPayload, signatureOf, webhookSecret } from "../test/support/github-payloads.ts";
import { startGitHubSimulator } from "../test/support/github-simulator.ts";
import type { Engine } from "./engines.ts";
import { get, type Load } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, median, percentile } from "./table.ts";

const deliveries = 1_000;
const repeats = 3;

interface DeliveryPage {
  deliveries: { id: string; state: string }[];
  nextBefore: string | null;
}

/** Signed pushes in a row, acknowledged while they are worked off behind; every one has to be there and done. */
export async function measureDeliveries(engine: Engine, script: string): Promise<Figure[]> {
  const repository = await createTestRepository();
  const after = await repository.commit({ "agents/ai-sdk/one.yaml": "name: one\nframework: ai-sdk\n" });
  const github = await startGitHubSimulator(repository);
  const env = { ...(await engine.fresh()), ...github.env, WEBHOOK_SECRET: webhookSecret };
  const server = await startServer(script, ["start"], env);
  const loads: Load[] = [];
  const behind: number[] = [];
  const body = JSON.stringify(pushPayload({ after }));
  try {
    await post(server, body, 200);
    await workedOff(server, 200);
    for (let repeat = 1; repeat <= repeats; repeat++) {
      const load = await post(server, body, deliveries);
      if (load.failed > 0) throw new Error(`${load.failed} deliveries were not accepted.`);
      loads.push(load);
      const postedAt = performance.now();
      await workedOff(server, 200 + repeat * deliveries);
      behind.push(performance.now() - postedAt);
    }
  } finally {
    await server.stop();
    await github.close();
    await repository.remove();
  }
  const perSecond = loads.map((load) => Math.round(load.perSecond));
  const p99 = loads.map((load) => Math.round(load.p99));
  return [
    {
      what: `${deliveries} signed deliveries of ${Math.round(body.length / 1024)} kB at 10 connections, acknowledged (the last one worked off ${Math.round(median(behind))} ms later)`,
      engine: engine.name,
      measured: `${median(perSecond)}/s (${perSecond.join(", ")}), p99 ${median(p99)} ms (${p99.join(", ")})`,
      target: "300/s, p99 < 50 ms",
      met: median(perSecond) >= 300 && median(p99) < 50,
    },
  ];
}

async function post({ url }: Server, body: string, amount: number): Promise<Load> {
  const latencies: number[] = [];
  let failed = 0;
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-hub-signature-256": signatureOf(body),
  };
  const startedAt = performance.now();
  const running = autocannon({
    url: `${url}/api/github/webhooks`,
    connections: 10,
    amount,
    requests: [
      {
        method: "POST",
        path: "/api/github/webhooks",
        body,
        setupRequest: (request) => ({
          ...request,
          headers: { ...headers, "x-github-delivery": randomUUID() },
        }),
      },
    ],
  }) as unknown as Instance;
  await new Promise<void>((resolve, reject) => {
    running.on("response", (_client, status, _bytes, latency) => {
      if (status !== 202) failed++;
      if (latencies.push(latency) === amount) resolve();
    });
    running.on("reqError", reject);
  });
  const perSecond = (amount / (performance.now() - startedAt)) * 1_000;
  return { perSecond, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), failed };
}

/** Waits until so many deliveries are there, each once and done. */
async function workedOff(server: Server, expected: number): Promise<void> {
  for (;;) {
    const newest = await get<DeliveryPage>(`${server.url}/api/v1/deliveries?limit=50`);
    if (newest.deliveries.every(({ state }) => state !== "received")) break;
    await sleep(20);
  }
  const done = new Set<string>();
  for (let before = ""; ; ) {
    const page = await get<DeliveryPage>(`${server.url}/api/v1/deliveries?limit=200${before}`);
    if (page.deliveries.some(({ state }) => state === "received")) return workedOff(server, expected);
    for (const { id, state } of page.deliveries) if (state === "done") done.add(id);
    if (page.nextBefore === null) break;
    before = `&before=${page.nextBefore}`;
  }
  if (done.size !== expected)
    throw new Error(`${done.size} deliveries are done; ${expected} were acknowledged.`);
}
