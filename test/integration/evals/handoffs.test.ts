import { describe, expect, it, onTestFinished } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { evalText, evalToEnd } from "../../support/eval-requests.ts";
import { startModelSimulator } from "../../support/model-simulator.ts";
import { specText } from "../../support/run-requests.ts";
import { startPullRequests } from "../pull-requests/pull-request-service.ts";

const front = "agents/openai-agents/front.json";
const frontEvals = "agents/openai-agents/front.eval.json";
const back = "agents/openai-agents/back.json";

const member = (name: string, more: Record<string, unknown> = {}) =>
  specText(name, { framework: "openai-agents", ...more });

const online = { model: "openai-compatible/test", retries: 0 };
const say = (instructions: string) => member("back", { ...online, instructions });
const evals = evalText({ assert: { contains: "o" } });
const toBack = { toolCalls: [{ name: "transfer_to_back", args: {} }] };

async function start(files: Record<string, string>, engine: "sqlite" | "mysql") {
  const simulator = await startModelSimulator();
  onTestFinished(() => simulator.close());
  const env = {
    OPENAI_COMPATIBLE_API_KEY: simulator.keys["openai-compatible"].apiKey ?? "",
    OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`,
  };
  return { simulator, app: await startApp({ files, env, engine }) };
}

describe.each(databases())("evals of agents that hand off on %s", (engine) => {
  const database = useDatabase(engine);

  it("come to the other agents as their own commit has them", async () => {
    const files = {
      [front]: member("front", { ...online, handoffs: ["back"] }),
      [frontEvals]: evals,
      [back]: say("You are the first."),
    };
    const { app, simulator } = await start(files, engine);
    const first = (await app.request("GET", "/agents")).json.catalog.commitSha;
    await app.commit({ [back]: say("You are the second.") });
    const heard = async (body: Record<string, unknown>) => {
      const before = simulator.requests.length;
      simulator.script(toBack, { text: "So be it." });
      expect(await evalToEnd(app, { agent: "front", ...body })).toMatchObject({ status: "passed" });
      return JSON.stringify(simulator.requests[before + 1]?.body);
    };
    expect(await heard({})).toContain("You are the second.");
    expect(await heard({ commitSha: first })).toContain("You are the first.");
    expect(await heard({ commitSha: first, spec: files[front] })).toContain("You are the first.");
    expect(await heard({ spec: files[front] })).toContain("You are the second.");
  });

  it("fail when their commit has no such agent, whatever the catalog has", async () => {
    const alone = { [front]: member("front", { handoffs: ["back"] }), [frontEvals]: evals };
    const app = await startApp({ files: alone, engine });
    const first = (await app.request("GET", "/agents")).json.catalog.commitSha;
    await app.commit({ [back]: member("back") });
    expect(await evalToEnd(app, { agent: "front" })).toMatchObject({ status: "passed" });
    const suite = await evalToEnd(app, { agent: "front", commitSha: first });
    expect(suite).toMatchObject({ status: "failed" });
    const { run } = (await app.request("GET", `/runs/${suite.cases[0].runId}`)).json;
    expect(run).toMatchObject({
      failureCode: "invalid_spec",
      errorDetails: expect.stringContaining("The agent needs the agent back"),
    });
  });

  it("want the connections of all agents that they can come to", async () => {
    const files = {
      [front]: member("front", { handoffs: ["back"] }),
      [frontEvals]: evals,
      [back]: member("back", { handoffs: ["last"] }),
      "agents/openai-agents/last.json": member("last", { handoffs: ["back"], connections: ["GITHUB_STAR"] }),
    };
    const app = await startApp({ files, engine });
    const { status, json } = await app.request("POST", "/evals", { body: { agent: "front" } });
    expect(status).toBe(422);
    expect(json.details.missing).toMatchObject([{ slugs: ["GITHUB_STAR"] }]);
  });

  it("are run each time: their two texts are not all that they depend on", async () => {
    const files = {
      [front]: member("front", { handoffs: ["back"] }),
      [frontEvals]: evals,
      [back]: member("back"),
      "agents/openai-agents/back.eval.json": evals,
    };
    const app = await startApp({ files, engine });
    for (const cached of [false, false])
      expect(await evalToEnd(app, { agent: "front", cache: true })).toMatchObject({
        status: "passed",
        cached,
      });
    for (const cached of [false, true])
      expect(await evalToEnd(app, { agent: "back", cache: true })).toMatchObject({ cached });
  });

  it("see a pull request's own agents, not those of the default branch", async () => {
    const service = await startPullRequests(database.db);
    service.runEvals();
    const base = await service.commit({ [back]: "name: back" });
    const head = await service.commit({
      [front]: member("front", { handoffs: ["back"] }),
      [frontEvals]: evals,
      [back]: member("back"),
    });
    service.propose(1, head, base);
    await service.consider(1);
    await service.reached(1, "success");
    const broken = await service.commit({
      [front]: member("front", { handoffs: ["back"], description: "Leads nowhere." }),
      [frontEvals]: evals,
    });
    service.propose(2, broken, base);
    await service.consider(2);
    await service.reached(2, "failure");
  });
});
