import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { startRunCluster } from "../../support/run-cluster.ts";
import { agentFiles, endedRun, eventsOf, postRun, reachesStatus } from "../../support/run-requests.ts";

const model = "openai-compatible/test-model";
const files = agentFiles({
  thinker: { model },
  tools: { model, connections: ["ROLLCALL_CURRENT_TIME"] },
  echo: {},
});

/** The run's row as it is stored. */
const stored = ({ db }: TestApp, id: string) => db.read("runs").where({ id }).first();

/** Executions of runs that this process has had taken from it. */
async function lostJobs({ url }: TestApp): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/rollcall_job_duration_seconds_count\{.*outcome="lost".*\} (\d+)/.exec(text)?.[1] ?? 0);
}

describe.each(databases())("processes that share a database on %s", (engine) => {
  it("one cancels what another executes: the request to the model is cut off", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    await cluster.join({ ROLLCALL_ROLES: "worker" });
    const never = Promise.withResolvers<void>();
    cluster.simulator.script({ text: "late", until: never.promise });
    const id = await postRun(web, "thinker");
    const { aborted } = await cluster.simulator.request(0);
    expect(await web.request("POST", `/runs/${id}/cancel`)).toMatchObject({ status: 200 });
    expect(await endedRun(web, id)).toMatchObject({ status: "cancelled" });
    await aborted;
    expect((await eventsOf(web, id)).at(-1)).toMatchObject({
      event: "run.finished",
      data: { status: "cancelled" },
    });
    never.resolve();
  });

  it("a run that nobody has begun is cancelled at once, and never begun", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const id = await postRun(web, "thinker");
    const { json } = await web.request("POST", `/runs/${id}/cancel`);
    expect(json.run).toMatchObject({ status: "cancelled", startedAt: null, durationMs: null });
    const worker = await cluster.join({ ROLLCALL_ROLES: "worker" });
    while (await worker.db.read("jobs").first()) await sleep(10);
    expect(cluster.simulator.requests).toEqual([]);
    expect((await eventsOf(web, id)).map((each) => each.event)).toEqual(["run.finished"]);
  });

  it("a trace and a wait show what another process does", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    await cluster.join({ ROLLCALL_ROLES: "worker" });
    cluster.simulator.script({ toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }] }, { text: "Now." });
    const id = await postRun(web, "tools");
    const [run, events] = await Promise.all([endedRun(web, id), eventsOf(web, id)]);
    expect(run).toMatchObject({
      status: "succeeded",
      output: "Now.",
      tokensInput: 20,
      tokensOutput: 10,
      costUsd: null,
    });
    expect(events.map((each) => each.event)).toEqual([
      ...["run.started", "step.started", "tool.called", "tool.finished", "step.finished"],
      ...["step.started", "step.finished", "run.finished"],
    ]);
  });

  it("an attempt that was overtaken calls no tool and stores no result", async () => {
    const cluster = await startRunCluster(engine, files);
    const app = await cluster.join();
    const released = Promise.withResolvers<void>();
    const until = released.promise;
    cluster.simulator.script(
      { toolCalls: [{ name: "ROLLCALL_CURRENT_TIME", args: {} }], until },
      { text: "late", until },
    );
    const ids = [await postRun(app, "tools")];
    await cluster.simulator.request(0);
    ids.push(await postRun(app, "thinker"));
    await cluster.simulator.request(1);
    await app.db.transaction((tx) => tx("runs").update({ attempt: 2 }));
    released.resolve();
    await expect.poll(() => lostJobs(app), { timeout: 15_000 }).toBe(2);
    for (const id of ids) {
      expect(await stored(app, id)).toMatchObject({
        status: "running",
        attempt: 2,
        tool_calls: 0,
        output: null,
      });
      const finished = await app.db.read("run_events").where({ run_id: id, type: "run.finished" });
      expect(finished).toEqual([]);
    }
    expect(app.logs().join("")).not.toContain("failed inside Rollcall");
  });

  it("what earlier attempts have cost stays when the run is given up", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const id = await postRun(web, "tools");
    const spent = { model, tokens_input: 70, tokens_output: 7, cost_usd: 0.5, tool_calls: 1 };
    await web.db.transaction((tx) =>
      tx("runs")
        .where({ id })
        .update({ ...spent, attempt: 0, status: "running" }),
    );
    await cluster.join({ ROLLCALL_ROLES: "worker" });
    expect(await endedRun(web, id)).toMatchObject({
      ...{ status: "failed", failureCode: "worker_lost" },
      ...{ model, tokensInput: 70, tokensOutput: 7, costUsd: 0.5 },
    });
    expect(cluster.simulator.requests).toEqual([]);
  });

  it("a run that was cancelled while no worker had it ends as cancelled, not as lost", async () => {
    const cluster = await startRunCluster(engine, files);
    const web = await cluster.join({ ROLLCALL_ROLES: "web,scheduler" });
    const id = await postRun(web, "tools");
    await web.db.transaction((tx) => tx("runs").where({ id }).update({ status: "running", tool_calls: 1 }));
    expect((await web.request("POST", `/runs/${id}/cancel`)).json.run).toMatchObject({ status: "running" });
    await cluster.join({ ROLLCALL_ROLES: "worker" });
    await reachesStatus(web, id, "cancelled");
  });
});
