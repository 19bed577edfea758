import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeFailure, type FailureCode } from "../../../src/frameworks/index.ts";
import { startApp, type TestApp, useApp } from "../../support/app.ts";
import { freshDatabase } from "../../support/databases.ts";
import { createTestRepository } from "../../support/git-repository.ts";
import {
  type ModelSimulator,
  type SimulatedReply,
  startModelSimulator,
} from "../../support/model-simulator.ts";
import { agentFiles, endedRun, eventsOf, postRun, runToEnd } from "../../support/run-requests.ts";

const model = "openai-compatible/test-model";
/** Of no shape that scrubbing knows by itself. */
const canary = 'canary/quoted"key/0123456789';
const openaiCanary = "plain-canary-key-9876543210";

const files = {
  ...agentFiles({
    strict: { model, retries: 0 },
    priced: { model: "openai/gpt-4o-mini", retries: 0, budget: { usdPerRun: 0.000001 } },
    keyless: { model: "anthropic/claude-sonnet-4-5" },
    single: { model, connections: ["ROLLCALL_CURRENT_TIME"], parameters: { maxSteps: 1 } },
    reader: { model, connections: ["ROLLCALL_READ_FILE"] },
    impatient: { model, parameters: { timeoutSeconds: 1 } },
    echo: {},
    stranger: { connections: ["NOBODY_HAS_THIS"] },
  }),
  "docs/keys.md": `The key is ${openaiCanary}.\n`,
};

let simulator: ModelSimulator;
const env: Record<string, string> = {};
beforeAll(async () => {
  simulator = await startModelSimulator();
  Object.assign(env, {
    OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`,
    OPENAI_COMPATIBLE_API_KEY: canary,
    OPENAI_BASE_URL: `${simulator.origin}/v1`,
    OPENAI_API_KEY: openaiCanary,
    LOG_LEVEL: "trace",
  });
});
afterAll(() => simulator.close());
const app = useApp({ files, env });

/** Each member reads the safe words; only an admin what lies behind them. */
async function expectFailure(app: TestApp, id: string, code: FailureCode, viewer: string) {
  const run = await endedRun(app, id);
  const { message, recommendation } = describeFailure(code);
  const status = code === "cancelled" ? "cancelled" : "failed";
  const seen = { status, failureCode: code, errorMessage: message, failureRecommendation: recommendation };
  expect(run).toMatchObject({ ...seen, output: null });
  const shown = await endedRun(app, id, { key: viewer });
  expect(shown).toMatchObject(seen);
  expect(shown).not.toHaveProperty("errorDetails");
  const last = (await eventsOf(app, id, { key: viewer })).at(-1);
  expect(last).toMatchObject({ event: "run.finished", data: { status, failureCode: code } });
  return run;
}

describe("each way to fail has its code and its safe words", () => {
  let viewer = "";
  beforeAll(async () => {
    viewer = await app().member("reader", "viewer");
  });

  const usage = { input: 1_000, output: 1_000 };
  const call = (name: string, args: unknown) => ({ toolCalls: [{ name, args }] });
  it.each<[FailureCode, string, string, SimulatedReply[], RegExp]>([
    ["model_not_configured", "no key", "keyless", [], /ANTHROPIC_API_KEY/],
    ["model_auth", "a wrong key", "strict", [{ status: 401, message: `wrong key: ${canary}` }], /status 401/],
    ["model_rate_limited", "a rate limit", "strict", [{ status: 429 }], /status 429/],
    [
      "model_rate_limited",
      "a used-up quota",
      "strict",
      [{ status: 429, code: "insufficient_quota" }],
      /quota/,
    ],
    ["model_unavailable", "an outage", "strict", [{ status: 503 }], /status 503/],
    ["model_unavailable", "a broken connection", "strict", [{ reset: true }], /test-model/],
    ["model_unavailable", "an answer that is none", "strict", [{ raw: "<html>" }], /test-model/],
    [
      "model_refused",
      "a withheld answer",
      "strict",
      [{ text: "", finish: "content-filter" }],
      /content.filter/,
    ],
    ["max_steps", "no step left", "single", [call("ROLLCALL_CURRENT_TIME", {})], /step 1 of 1/],
    ["budget_exceeded", "a budget", "priced", [{ text: "a", usage }], /budget/],
  ])("%s: %s", async (code, _, agent, replies, details) => {
    simulator.script(...replies);
    const run = await expectFailure(app(), await postRun(app(), agent), code, viewer);
    expect(run.errorDetails).toMatch(details);
    expect(run.errorDetails).not.toContain("canary");
    expect(simulator.left()).toBe(0);
  });

  it.each(["until", "stallUntil"])("timeout: %s it is too late", async (waits) => {
    const never = Promise.withResolvers<void>();
    simulator.script({ text: "late", [waits]: never.promise });
    const asked = simulator.requests.length;
    await expectFailure(app(), await postRun(app(), "impatient"), "timeout", viewer);
    await simulator.requests[asked]?.aborted;
    never.resolve();
  });
});

it("secrets that a provider and a tool repeat reach no answer, no log and no file", async () => {
  const { db } = app();
  const viewer = await app().member("onlooker", "viewer");
  const sealed = "workspace-canary-key-192837465";
  await app().request("PATCH", "/settings", { body: { modelKeys: { anthropic: { apiKey: sealed } } } });
  simulator.script(
    { raw: JSON.stringify({ error: { message: `${canary} ${openaiCanary} ${sealed}` } }), status: 400 },
    { toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path: "docs/keys.md" } }] },
    { text: "I have read it." },
  );
  const failed = await runToEnd(app(), "strict");
  expect(failed.errorDetails).toContain("[redacted] [redacted] [redacted]");
  const read = await runToEnd(app(), "reader");
  expect(JSON.stringify(await eventsOf(app(), read.id))).toContain("The key is [redacted].");

  const paths = [
    "/runs",
    `/runs/${failed.id}`,
    `/runs/${read.id}/events`,
    "/agents",
    "/agents/reader",
    "/jobs",
    "/settings",
  ];
  const answers: string[] = [];
  for (const path of paths)
    for (const key of [viewer, app().key]) answers.push((await app().request("GET", path, { key })).text);
  const databasePath: string = (await db.read.raw("PRAGMA database_list"))[0].file;
  const stored = [databasePath, `${databasePath}-wal`].map((path) => readFileSync(path, "latin1"));
  const logs = app().logs().join("");
  for (const secret of [canary, JSON.stringify(canary).slice(1, -1), openaiCanary, sealed]) {
    for (const text of [...answers, ...stored, logs]) expect(text.includes(secret), secret).toBe(false);
  }
  // The search would find what is there.
  expect(stored.join("")).toContain(failed.id);
});

describe("what has changed between the request and the execution", () => {
  it.each<[FailureCode, string, Record<string, unknown>, RegExp]>([
    ["invalid_spec", "the spec is gone", { spec_sha: "0".repeat(64) }, /No spec has the hash/],
    ["connection_missing", "a tool is gone", { agent: "stranger" }, /NOBODY_HAS_THIS/],
    [
      "tool_failed",
      "the repository is gone",
      { agent: "reader", commit_sha: "1".repeat(40) },
      /lacks object 1111/,
    ],
    ["invalid_spec", "the framework is gone", { framework: "nonesuch" }, /nonesuch/],
    ["internal", "a setting is damaged", {}, /JSON/],
  ])("%s: %s", async (code, _, change, details) => {
    const { config } = await freshDatabase("sqlite", { migrated: false });
    const repository = await createTestRepository();
    await repository.commit(files);
    const shared = {
      ...env,
      DATABASE_URL: config.engine === "sqlite" ? `sqlite:${config.path}` : "",
      ROLLCALL_REPOSITORY: repository.gitdir,
    };
    const web = await startApp({ files: {}, env: { ...shared, ROLLCALL_ROLES: "web,scheduler" } });
    const viewer = await web.member("reader", "viewer");
    const id = await postRun(web, "echo");
    const specOf = web.db
      .read("agents")
      .where({ name: change.agent ?? "echo" })
      .first("spec_sha");
    await web.db.transaction(async (tx) =>
      tx("runs")
        .where({ id })
        .update({ ...(await specOf), ...change }),
    );
    const name = "modelKeys.openai.baseUrl";
    const damaged = { workspace_id: web.workspaceId, name, value: "[", sealed: 0, updated_at: 1 };
    if (code === "internal") await web.db.transaction((tx) => tx("settings").insert(damaged));
    if (code === "tool_failed")
      simulator.script({ toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path: "docs/keys.md" } }] });
    await startApp({ files: {}, env: { ...shared, ROLLCALL_ROLES: "worker" } });
    const run = await expectFailure(web, id, code, viewer);
    expect(run.errorDetails).toMatch(details);
    await repository.remove();
  });
});

it("a tool that nobody has is refused before there is a run", async () => {
  const answer = await app().request("POST", "/runs", { body: { agent: "stranger" } });
  expect(answer).toMatchObject({
    status: 422,
    json: { details: { missing: [{ slugs: ["NOBODY_HAS_THIS"] }] } },
  });
});

it("a snapshot whose spec this release does not accept is refused with its reason", async () => {
  await app().db.transaction(async (tx) => {
    const sha = "2".repeat(64);
    await tx("agent_specs").insert({ sha, format: "json", content: '{"name":"echo","surprise":true}' });
    await tx("agent_versions").insert({
      ...{ workspace_id: app().workspaceId, agent: "echo", number: 1, framework: "ai-sdk", spec_sha: sha },
      ...{ commit_sha: "3".repeat(40), stable: 0, created_at: 1 },
    });
  });
  const answer = await app().request("POST", "/runs", { body: { agent: "echo", version: "1" } });
  expect(answer).toMatchObject({
    status: 422,
    json: { error: expect.stringMatching(/Version 1 of echo is not valid/) },
  });
});
