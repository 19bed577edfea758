import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, it } from "vitest";
import { databases } from "../support/databases.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { startRunCluster } from "../support/run-cluster.ts";
import { agentFiles, endedRun } from "../support/run-requests.ts";
import { call, makeWebhook } from "../support/webhook-calls.ts";

const files = agentFiles({ echo: {} });
const unlimited = { ROLLCALL_WEBHOOK_RATE_LIMIT: "0" };

describe.skipIf(inject("mysqlUrl") === null)("a webhook whose database is away", () => {
  it("answers 503 with Retry-After and keeps nothing; the call is taken when it comes again", async () => {
    const cluster = await startRunCluster("mysql", files);
    const { DATABASE_URL = "" } = cluster.env;
    const proxy = await startFaultProxy(DATABASE_URL);
    const watcher = await cluster.join({ ROLLCALL_ROLES: "web" });
    const app = await cluster.join({ DATABASE_URL: proxy.url(DATABASE_URL) });
    try {
      const webhook = await makeWebhook(watcher, "echo");
      const send = () => call(app, webhook, { headers: { "idempotency-key": "one" } });
      for (const cut of [proxy.refuse, proxy.pause]) {
        cut();
        const refused = await send();
        expect([refused.status, Object.keys(refused.json)]).toEqual([503, ["error"]]);
        expect(refused.headers.get("retry-after")).toMatch(/^[1-9]$/);
        proxy.resume();
        expect(await watcher.db.read("deliveries")).toEqual([]);
      }
      const taken = await send();
      expect(taken.status).toBe(202);
      expect(await endedRun(watcher, taken.json.run_id)).toMatchObject({ status: "succeeded" });
      expect((await send()).json).toEqual(taken.json);
      expect(await watcher.db.read("runs").pluck("id")).toEqual([taken.json.run_id]);
    } finally {
      proxy.resume();
      await app.stop();
      await proxy.stop();
    }
  }, 60_000);
});

describe.each(databases())("processes that take calls on %s", (engine) => {
  it("are killed under load: what was accepted is one run, and the same call again tells which", async () => {
    const cluster = await startRunCluster(engine, files);
    const watcher = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const webhook = await makeWebhook(watcher, "echo");
    // Each key goes on, whoever is killed, until its call is answered.
    const answers = new Map<string, string>();
    const first = await cluster.spawn(unlimited);
    let target: { url: string } = first;
    const client = async (name: number) => {
      for (let n = 0; n < 40; n++) {
        const key = `${name}-${n}`;
        for (;;) {
          const answer = await call(target, webhook, {
            payload: key,
            headers: { "idempotency-key": key },
          }).catch(() => undefined);
          if (answer?.status === 202) {
            answers.set(key, answer.json.run_id);
            break;
          }
          await sleep(20);
        }
      }
    };
    const clients = Array.from({ length: 8 }, (_, name) => client(name));
    await expect.poll(() => answers.size, { timeout: 15_000 }).toBeGreaterThan(60);
    await first.script.kill("SIGKILL");
    target = await cluster.spawn(unlimited);
    await Promise.all(clients);

    // Now all of them once more: whatever was stored before the kill is told again.
    for (const [key, runId] of answers) {
      const again = await call(target, webhook, { payload: key, headers: { "idempotency-key": key } });
      expect([again.status, again.json.run_id]).toEqual([202, runId]);
    }
    const runs = await watcher.db.read("runs").select("id", "message");
    expect(runs.map(({ id }) => id).sort()).toEqual([...answers.values()].sort());
    expect(new Set(runs.map(({ message }) => message)).size).toBe(8 * 40);
    expect((await watcher.db.read("deliveries").pluck("run_id")).sort()).toEqual(
      [...answers.values()].sort(),
    );
    for (const id of answers.values())
      expect(await endedRun(watcher, id)).toMatchObject({ status: "succeeded" });
  }, 90_000);

  it("decide between twins that come to different ones", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = { ...unlimited, ROLLCALL_ROLES: "web,scheduler" };
    const apps = await Promise.all([cluster.join(web), cluster.join(web)]);
    const [one] = apps;
    const webhook = await makeWebhook(one as (typeof apps)[number], "echo");
    for (let round = 0; round < 5; round++) {
      const headers = { "idempotency-key": `twin-${round}` };
      const twins = await Promise.all(
        Array.from({ length: 20 }, (_, n) => call(apps[n % 2] ?? apps[0], webhook, { headers })),
      );
      expect(twins.map(({ status }) => status)).toEqual(Array(20).fill(202));
      expect(new Set(twins.map(({ json }) => json.run_id)).size).toBe(1);
    }
    expect(await one?.db.read("runs").count({ n: "*" })).toEqual([{ n: 5 }]);
    expect(await one?.db.read("deliveries").count({ n: "*" })).toEqual([{ n: 5 }]);
  }, 60_000);
});
