import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import { startScript } from "../support/child-process.ts";
import { databases } from "../support/databases.ts";
import { freezeProcess } from "../support/freeze-process.ts";
import { type RunCluster, startRunCluster } from "../support/run-cluster.ts";
import { agentFiles, endedRun, eventsOf, postRun, reachesStatus } from "../support/run-requests.ts";

const model = "openai-compatible/test-model";
const files = agentFiles({
  thinker: { model },
  tools: { model, connections: ["ROLLCALL_CURRENT_TIME"] },
  echo: {},
});
const clock = { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }] };
const onlyWeb = { ROLLCALL_ROLES: "web,scheduler" };
const onlyWorker = { ROLLCALL_ROLES: "worker" };

/** A reply that never comes. */
const never = { text: "never", until: new Promise(() => {}) };

describe.each(databases())("workers that die on %s", (engine) => {
  it("a run that has called no tool is executed again, one that has is given up", async () => {
    const { simulator, ...cluster } = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    const first = await cluster.spawn(onlyWorker);
    simulator.script({ ...clock, usage: { input: 30, output: 3 } }, never, never);
    const called = await postRun(web, "tools");
    await simulator.request(1);
    const silent = await postRun(web, "thinker");
    await simulator.request(2);
    await first.script.kill("SIGKILL");

    simulator.script({ text: "second", usage: { input: 11, output: 7, cached: 2 } });
    await cluster.spawn(onlyWorker);
    expect(await endedRun(web, silent)).toMatchObject({
      ...{ status: "succeeded", output: "second" },
      ...{ tokensInput: 11, tokensOutput: 7, tokensCached: 2 },
    });
    expect(await endedRun(web, called)).toMatchObject({
      ...{ status: "failed", failureCode: "worker_lost", output: null },
      ...{ model, tokensInput: 30, tokensOutput: 3 },
    });
    expect(simulator.requests.length).toBe(4);
    const events = await eventsOf(web, called);
    expect(events.filter((each) => each.event === "tool.called").length).toBe(1);
    expect(events.at(-1)).toMatchObject({ event: "run.finished", data: { failureCode: "worker_lost" } });
  });

  it("a worker that slept past its lease may call no tool and store no result", async () => {
    const { simulator, ...cluster } = await startRunCluster(engine, files);
    const web = await cluster.join(onlyWeb);
    const sleeper = await cluster.spawn(onlyWorker);
    const stale = Promise.withResolvers<void>();
    simulator.script({ ...clock, until: stale.promise }, { text: "stale", until: stale.promise });
    const ids = [await postRun(web, "tools")];
    await simulator.request(0);
    ids.push(await postRun(web, "thinker"));
    await simulator.request(1);
    await freezeProcess(web.db, sleeper.script.pid);

    const fresh = Promise.withResolvers<void>();
    const reply = { text: "fresh", until: fresh.promise };
    simulator.script(reply, reply);
    await cluster.spawn(onlyWorker);
    await simulator.request(3);
    stale.resolve();
    process.kill(sleeper.script.pid, "SIGCONT");
    // It has come to itself when it does new work.
    simulator.script({ text: "new" }, { text: "new" });
    await reachesStatus(web, await postRun(web, "thinker"), "succeeded");
    fresh.resolve();

    for (const id of ids) {
      expect(await endedRun(web, id)).toMatchObject({ status: "succeeded", output: "fresh" });
      const events = await eventsOf(web, id);
      expect(events.filter((each) => each.event === "run.finished").map((each) => each.id)).toEqual([
        expect.stringMatching(/^2-/),
      ]);
      expect(events.filter((each) => each.event === "tool.finished")).toEqual([]);
      expect(await web.db.read("runs").where({ id }).first()).toMatchObject({ tool_calls: 0, attempt: 2 });
    }
  });
});

it("the third death under a run is the last", async () => {
  const { simulator, ...cluster } = await startRunCluster("sqlite", files);
  const web = await cluster.join(onlyWeb);
  simulator.script(never, never, never);
  const id = await postRun(web, "thinker");
  for (let attempt = 0; attempt < 3; attempt++) {
    const { script } = await cluster.spawn(onlyWorker);
    await simulator.request(attempt);
    await script.kill("SIGKILL");
  }
  await cluster.spawn(onlyWorker);
  expect(await endedRun(web, id)).toMatchObject({ status: "failed", failureCode: "worker_lost" });
  expect(simulator.requests.length).toBe(3);
  const finished = (await eventsOf(web, id)).filter((each) => each.event === "run.finished");
  expect(finished).toMatchObject([
    { id: expect.stringMatching(/^3-/), data: { failureCode: "worker_lost" } },
  ]);
});

describe("a worker that is told to stop", () => {
  it("hands back what it cannot finish: nobody waits for a lease", async () => {
    const { simulator, ...cluster } = await startRunCluster("sqlite", files);
    const web = await cluster.join(onlyWeb);
    const { script } = await cluster.spawn(onlyWorker);
    simulator.script(never);
    const id = await postRun(web, "thinker");
    await simulator.request(0);
    expect(await script.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(await web.db.read("jobs").first()).toMatchObject({ state: "queued", lease_until: null });
    expect(await web.db.read("runs").where({ id }).first()).toMatchObject({ status: "queued" });
    simulator.script({ text: "second" });
    await cluster.join(onlyWorker);
    expect(await endedRun(web, id)).toMatchObject({ status: "succeeded", output: "second" });
  });

  it("under load, as `rollcall start` does it: exit code 0, and every run that was acknowledged ends", async () => {
    const { simulator, env, ...cluster } = await startRunCluster("sqlite", files);
    const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
    const server = startScript(main, { args: ["start"], env: { ...env, PORT: "0" } });
    const line = await server.waitForLine(/ready at http/);
    const url = line.slice(line.indexOf("http"));
    simulator.script(...Array.from({ length: 20 }, () => ({ text: "a", until: sleep(400) })));
    const acknowledged: string[] = [];
    const post = async (n: number) => {
      const id = await tryToPost(url, env.ROLLCALL_ADMIN_KEY ?? "", n % 20 === 0 ? "thinker" : "echo");
      if (id) acknowledged.push(id);
    };
    const posts = Array.from({ length: 400 }, (_, n) => post(n));
    await Promise.race(posts);
    const exit = server.kill("SIGTERM");
    await Promise.all(posts);
    expect(await exit).toEqual({ code: 0, signal: null });

    expect(acknowledged.length).toBeGreaterThan(0);
    const app = await cluster.join();
    simulator.script(...Array.from({ length: 20 }, () => ({ text: "a" })));
    await everyRunEnds(app.db.read, acknowledged);
    const runs = await app.db.read("runs").whereIn("id", acknowledged);
    expect(new Set(runs.map((run) => run.status))).toEqual(new Set(["succeeded"]));
  }, 45_000);
});

it.skipIf(inject("mysqlUrl") === null)(
  "three processes, 1,000 runs and workers that die at random: each run ends once",
  async () => {
    const { simulator, ...cluster } = await startRunCluster("mysql", files);
    const watcher = await cluster.join(onlyWeb);
    const total = 1_000;
    simulator.script(...Array.from({ length: total }, slowReply));
    const members = await Promise.all([1, 2, 3].map(() => cluster.spawn()));
    const acknowledged: string[] = [];
    let tried = 0;
    let killed = false;
    const client = async () => {
      while (acknowledged.length < total || !killed) {
        const { url } = members[randomInt(members.length)] ?? { url: "" };
        const id = await tryToPost(
          url,
          cluster.env.ROLLCALL_ADMIN_KEY ?? "",
          tried++ % 5 === 0 ? "thinker" : "echo",
        );
        if (id) acknowledged.push(id);
        // So that the runs last as long as the killing does.
        await sleep(80);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    await killAtRandom(cluster, members, 5);
    killed = true;
    await Promise.all(clients);
    await everyRunEnds(watcher.db.read, acknowledged);

    const runs = await watcher.db.read("runs").whereIn("id", acknowledged);
    expect(runs.length).toBe(new Set(acknowledged).size);
    const finished: { run_id: string; n: number }[] = await watcher.db
      .read("run_events")
      .where({ type: "run.finished" })
      .groupBy("run_id")
      .select("run_id")
      .count({ n: "*" });
    const endsOf = new Map(finished.map((row) => [row.run_id, Number(row.n)]));
    for (const run of runs) {
      expect(endsOf.get(run.id), `${run.id} ${run.status}`).toBe(1);
      // No tool was called, so the only way not to succeed is to die three times.
      if (run.status !== "succeeded") expect(run).toMatchObject({ failure_code: "worker_lost", attempt: 3 });
      else if (run.agent === "echo")
        expect(run).toMatchObject({ output: "Hello", tokens_input: 5, tokens_output: 2 });
      else expect(run).toMatchObject({ output: "a", tokens_input: 10, tokens_output: 5 });
    }
    expect(
      runs.some((run) => run.attempt > 1),
      "no worker died in the middle of a run",
    ).toBe(true);
    expect(await watcher.db.read("jobs").whereNot({ state: "dead" })).toEqual([]);
  },
  60_000,
);

/** An answer that takes a while from when it was asked for. */
const slowReply = () => ({
  text: "a",
  get until() {
    return sleep(300);
  },
});

type Member = Awaited<ReturnType<RunCluster["spawn"]>>;

/** Kills members and starts others in their places. */
async function killAtRandom(
  cluster: Pick<RunCluster, "spawn">,
  members: Member[],
  times: number,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    await sleep(randomInt(100, 300));
    const index = randomInt(members.length);
    await members[index]?.script.kill("SIGKILL");
    members[index] = await cluster.spawn();
  }
}

/** The run's id when it was acknowledged; undefined when the server refused or died. */
async function tryToPost(url: string, key: string, agent: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/api/v1/runs`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ agent, message: "Hello" }),
    });
    if (response.status === 202) return ((await response.json()) as { run_id: string }).run_id;
  } catch {
    // Nobody was told that there is a run.
  }
  await sleep(5);
  return undefined;
}

async function everyRunEnds(read: RunRows, ids: readonly string[]): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const open = await read<{ id: string }>("runs")
      .whereIn("id", ids)
      .whereIn("status", ["queued", "running"])
      .select("id");
    if (open.length === 0) return;
    if (performance.now() > deadline) throw new Error(`${open.length} runs have not ended.`);
    await sleep(100);
  }
}

type RunRows = Awaited<ReturnType<RunCluster["join"]>>["db"]["read"];
