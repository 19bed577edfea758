import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy.ts";
import { startRunCluster } from "../support/run-cluster.ts";
import { agentFiles, endedRun, eventsOf, postRun } from "../support/run-requests.ts";

const model = "openai-compatible/test-model";
const files = agentFiles({
  thinker: { model },
  tools: { model, connections: ["ROLLCALL_CURRENT_TIME"] },
  daily: { model, budget: { usdPerDay: 5 } },
  echo: {},
});
const clock = { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }] };

/** One process whose way to its database can be cut, and one that always gets there. */
async function startBehindProxy() {
  const cluster = await startRunCluster("mysql", files);
  const { DATABASE_URL = "" } = cluster.env;
  const proxy = await startFaultProxy(DATABASE_URL);
  onTestFinished(proxy.stop);
  const watcher = await cluster.join({ ROLLCALL_ROLES: "web" });
  const app = await cluster.join({ DATABASE_URL: proxy.url(DATABASE_URL) });
  return { ...cluster, proxy, app, watcher };
}

const ways: [string, (proxy: FaultProxy) => void][] = [
  ["refuses connections", (proxy) => proxy.refuse()],
  ["says nothing", (proxy) => proxy.pause()],
];

describe.skipIf(inject("mysqlUrl") === null)("a database that goes away in the middle of runs", () => {
  it.each(ways)(
    "and %s: requests are told so in time, and runs end as if nothing had been",
    async (_, cut) => {
      const { simulator, app, watcher, proxy } = await startBehindProxy();
      const away = Promise.withResolvers<void>();
      const until = away.promise;
      // The echo has been executed once, so that nothing is read from disk for the first time later on.
      await endedRun(app, await postRun(app, "echo"));
      simulator.script({ text: "paid for", until }, { ...clock, until });
      const answering = await postRun(app, "thinker");
      await simulator.request(0);
      const calling = await postRun(app, "tools");
      await simulator.request(1);
      cut(proxy);
      simulator.script({ text: "It is noon." });
      away.resolve();

      const post = () => app.request("POST", "/runs", { body: { agent: "echo" } });
      for (const { status, headers } of await Promise.all([post(), post(), post()])) {
        expect(status).toBe(503);
        expect(headers.get("retry-after")).toMatch(/^[1-9]$/);
      }
      proxy.resume();

      // No second request to the model, no second tool call: the first ones are not lost.
      expect(await endedRun(watcher, answering)).toMatchObject({
        status: "succeeded",
        output: "paid for",
        tokensInput: 10,
      });
      expect(await endedRun(watcher, calling)).toMatchObject({
        status: "succeeded",
        output: "It is noon.",
        tokensInput: 20,
      });
      expect(simulator.requests.length).toBe(3);
      const events = await eventsOf(watcher, calling);
      expect(events.filter((each) => each.event === "run.finished").length).toBe(1);
      expect(await watcher.db.read("runs").where({ id: calling }).first()).toMatchObject({ attempt: 1 });
      expect(await endedRun(app, await postRun(app, "echo", "back"))).toMatchObject({ output: "back" });
    },
    40_000,
  );

  it("again and again under load: everything that was acknowledged ends once", async () => {
    const { app, watcher, proxy } = await startBehindProxy();
    const acknowledged: string[] = [];
    let over = false;
    const client = async () => {
      while (!over) {
        const { status, json } = await app.request("POST", "/runs", { body: { agent: "echo" } });
        if (status === 202) acknowledged.push(json.run_id);
        else {
          expect(status).toBe(503);
          await sleep(20);
        }
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (let time = 0; time < 6; time++) {
      await sleep(250);
      if (time % 2 === 0) proxy.dropAll();
      else {
        proxy.refuse();
        await sleep(250);
        proxy.resume();
      }
    }
    over = true;
    await Promise.all(clients);
    expect(acknowledged.length).toBeGreaterThan(50);
    for (const id of acknowledged) expect(await endedRun(watcher, id)).toMatchObject({ status: "succeeded" });
    const finished = await watcher.db.read("run_events").where({ type: "run.finished" }).pluck("run_id");
    expect(finished.length).toBe(new Set(finished).size);
  }, 60_000);
});
