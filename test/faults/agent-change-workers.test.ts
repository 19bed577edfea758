import fs from "node:fs";
import git from "isomorphic-git";
import { describe, expect, it } from "vitest";
import {
  calls,
  endedChange,
  postChange,
  useWriter,
  writesAgent,
  writtenEvals,
  writtenSpec,
} from "../support/agent-change-requests.ts";
import { databases } from "../support/databases.ts";
import { startRunCluster } from "../support/run-cluster.ts";
import { agentFiles } from "../support/run-requests.ts";

const onlyWeb = { ROLLCALL_ROLES: "web,scheduler" };
const onlyWorker = { ROLLCALL_ROLES: "worker" };
const never = { until: new Promise<void>(() => {}) };

describe.each(databases())("a worker that is killed on %s while an agent is written", (engine) => {
  async function setUp() {
    const cluster = await startRunCluster(engine, agentFiles({ helper: {} }));
    const web = await cluster.join(onlyWeb);
    await useWriter(web);
    const { script } = await cluster.spawn(onlyWorker);
    const id = await postChange(web, { name: "greeter", description: "Greets." });
    const { gitdir } = cluster.repository;
    const branches = async () => (await git.listBranches({ fs, gitdir })).filter((name) => name !== "main");
    return { ...cluster, web, script, id, branches };
  }

  it("in the middle of the writing: another one writes it", { timeout: 60_000 }, async () => {
    const { simulator, web, script, id, branches, spawn } = await setUp();
    simulator.script(calls("WRITE_SPEC", { text: writtenSpec("greeter") }), never);
    await simulator.request(1);
    await script.kill("SIGKILL");
    simulator.script(...writesAgent("greeter"));
    await spawn(onlyWorker);
    const change = await endedChange(web, id);
    expect(change).toMatchObject({ status: "proposed", evals: { status: "passed" } });
    expect(await branches()).toEqual([change.branch]);
    expect(await web.db.read("jobs")).toEqual([]);
  });

  it("in the middle of the writing: each call of both is paid for once", { timeout: 60_000 }, async () => {
    const cluster = await startRunCluster(engine, agentFiles({ helper: {} }));
    const { simulator, spawn } = cluster;
    const env = {
      ...onlyWorker,
      OPENAI_BASE_URL: `${simulator.origin}/v1`,
      OPENAI_API_KEY: simulator.keys.openai.apiKey ?? "",
    };
    const web = await cluster.join(onlyWeb);
    await useWriter(web, { model: "openai/gpt-4o-mini" });
    const usage = { input: 1_000, output: 0 };
    const { script } = await spawn(env);
    simulator.script({ ...calls("READ_AGENT", { name: "helper" }), usage }, never);
    const wanted = { name: "greeter", description: "Greets.", includeEvals: false };
    const id = await postChange(web, wanted);
    await simulator.request(1);
    await script.kill("SIGKILL");
    const spec = { ...calls("WRITE_SPEC", { text: writtenSpec("greeter") }), usage };
    simulator.script(spec, { text: "Done.", usage });
    await spawn(env);
    expect(await endedChange(web, id)).toMatchObject({ status: "proposed", costUsd: 0.0003 });
    const { caps } = (await web.request("GET", "/budgets")).json.budgets;
    expect(caps[0]).toMatchObject({ cap: "usdPerWorkspaceMonth", usedUsd: 0.00045 });
  });

  it("while the evals run: nothing is written or queued a second time", { timeout: 60_000 }, async () => {
    const { simulator, web, script, id, branches, spawn } = await setUp();
    simulator.script(
      calls("WRITE_SPEC", { text: writtenSpec("greeter", { model: "openai-compatible/greeter" }) }),
      calls("WRITE_EVALS", { text: writtenEvals }),
      { text: "Done." },
      never,
    );
    await simulator.request(3);
    await script.kill("SIGKILL");
    simulator.script({ text: "Hello!" });
    await spawn(onlyWorker);
    const change = await endedChange(web, id);
    expect(change).toMatchObject({ status: "proposed", summary: "Done.", evals: { status: "passed" } });
    expect(simulator.requests).toHaveLength(5);
    expect(await branches()).toEqual([change.branch]);
    expect((await web.request("GET", "/evals?agent=greeter")).json.evals).toHaveLength(1);
  });
});
