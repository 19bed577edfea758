import { randomUUID } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases, freshDatabase } from "../../support/databases.ts";
import { createTestRepository } from "../../support/git-repository.ts";
import { deliver, startGitHubService, workedOff } from "../../support/github-deliveries.ts";
import { examplePayload, pushPayload, webhookSecret } from "../../support/github-payloads.ts";
import { startGitHubSimulator } from "../../support/github-simulator.ts";

const spec = (name: string, text = "Answer.") =>
  `name: ${name}\nframework: ai-sdk\nmodel: offline/echo\ninstructions: ${text}\n`;
const path = (name: string) => `agents/ai-sdk/${name}.yaml`;
const first = { [path("one")]: spec("one") };

describe.each(databases())("a signed push on %s", (engine) => {
  it("brings the catalog to the head at once", async () => {
    const { app, repository, send, catalog } = await startGitHubService(first, { engine });
    const after = await repository.commit({ ...first, [path("two")]: spec("two") });
    expect((await catalog()).commitSha).not.toBe(after);
    expect(await send({ payload: pushPayload({ after }) })).toMatchObject({
      event: "push",
      action: null,
      state: "done",
      attempts: 1,
    });
    const { json } = await app.request("GET", "/agents");
    expect(json.catalog).toMatchObject({ commitSha: after, stale: false });
    expect(json.agents.map(({ name }: { name: string }) => name)).toEqual(["one", "two"]);
  });
});

describe("a signed push", () => {
  it("that touches one of 2,000 agents costs at most four calls to GitHub", async () => {
    const files: Record<string, string> = {};
    for (let n = 0; n < 2_000; n++) files[path(`agent-${n}`)] = spec(`agent-${n}`);
    const { app, github, repository, send } = await startGitHubService(files);
    const after = await repository.commit({ ...files, [path("agent-7")]: spec("agent-7", "Better.") });
    const before = github.calls.length;
    await send({ payload: pushPayload({ after }) });
    const calls = github.calls.slice(before);
    expect(calls.length, calls.join("\n")).toBeLessThanOrEqual(4);
    expect((await app.request("GET", "/agents/agent-7")).json.agent.spec).toContain("Better.");
    // Octokit paces the calls that read them all for the first time.
  }, 90_000);

  it("ends in the head whatever order pushes come in, forced or sent again", async () => {
    const { app, repository, send, catalog } = await startGitHubService(first);
    const commits: string[] = [];
    for (const text of ["a", "b", "c"])
      commits.push(await repository.commit({ [path("one")]: spec("one", text) }));
    const [a = "", b = "", c = ""] = commits;
    await send({ payload: pushPayload({ before: b, after: c }) });
    const late = await send({ payload: pushPayload({ before: a, after: b }) });
    expect((await catalog()).commitSha).toBe(c);
    await repository.setRef("refs/heads/main", a);
    await send({ payload: pushPayload({ before: c, after: a, forced: true }) });
    expect((await catalog()).commitSha).toBe(a);
    await repository.setRef("refs/heads/main", b);
    expect((await app.request("POST", `/deliveries/${late.id}/replay`)).status).toBe(202);
    await expect.poll(async () => (await catalog()).commitSha, { timeout: 10_000 }).toBe(b);
    expect(await workedOff(app, late.deliveryId)).toMatchObject({ state: "done", attempts: 2 });
  });

  it("is waited for while GitHub's API still shows the commit before it", async () => {
    const { app, repository, catalog } = await startGitHubService(first);
    const before = (await catalog()).commitSha;
    const id = randomUUID();
    const sent = await deliver(app, { id, payload: pushPayload({ before, after: "f".repeat(40) }) });
    expect(sent.status).toBe(202);
    const record = async () => (await app.request("GET", "/deliveries")).json.deliveries[0];
    await expect.poll(async () => (await record()).attempts, { timeout: 10_000 }).toBe(1);
    expect(await record()).toMatchObject({
      state: "received",
      reason: expect.stringContaining("before the push"),
    });
    const after = await repository.commit({ [path("one")]: spec("one", "late") });
    expect(await workedOff(app, id)).toMatchObject({ state: "done", attempts: 2 });
    expect((await catalog()).commitSha).toBe(after);
  });

  it("fifty at once, under one id and under fifty, are worked off with few readings", async () => {
    const { app, github, repository, catalog } = await startGitHubService(first);
    const after = await repository.commit({ [path("one")]: spec("one", "new") });
    const payload = pushPayload({ after });
    const trees = () => github.calls.filter((call) => call.includes("/git/trees/")).length;
    const before = trees();
    const same = randomUUID();
    const ids = Array.from({ length: 50 }, () => randomUUID());
    await Promise.all([...ids, ...ids.map(() => same)].map((id) => deliver(app, { id, payload })));
    for (const id of [same, ...ids])
      expect(await workedOff(app, id)).toMatchObject({ state: "done", attempts: 1 });
    expect((await catalog()).commitSha).toBe(after);
    expect(trees()).toBe(before + 1);
    expect(await app.db.read("deliveries").where({ external_id: same })).toHaveLength(1);
    const refs = github.calls.filter((call) => call.includes("/git/ref/")).length;
    expect(refs).toBeLessThan(30);
  });

  it.each([
    ["a tag like the branch", { ref: "refs/tags/main" }],
    ["a longer name", { ref: "refs/heads/maintenance" }],
    ["a deleted branch", { deleted: true, after: "0".repeat(40) }],
    ["another repository", { repository: { full_name: "acme/other", default_branch: "main" } }],
  ])("is ignored, and costs no call: %s", async (_what, changes) => {
    const { github, send } = await startGitHubService(first);
    const before = github.calls.length;
    expect(await send({ payload: pushPayload(changes) })).toMatchObject({
      state: "ignored",
      reason: expect.stringMatching(/\.$/),
    });
    expect(github.calls.length).toBe(before);
  });
});

describe("with a process for each role", () => {
  const process = async (roles: string, database: string, env: Readonly<Record<string, string>>) =>
    startApp({ env: { ...env, ROLLCALL_ROLES: roles, DATABASE_URL: database } });

  it("what one takes another works off, whether or not it knows the secret", async () => {
    const repository = await createTestRepository();
    onTestFinished(() => repository.remove());
    const github = await startGitHubSimulator(repository);
    onTestFinished(() => github.close());
    const { config } = await freshDatabase("sqlite", { migrated: false });
    const database = config.engine === "sqlite" ? `sqlite:${config.path}` : "";
    const shared = { ...github.env, ROLLCALL_SECRET_KEY: "s".repeat(32) };
    const web = await process("web", database, { ...shared, WEBHOOK_SECRET: webhookSecret });
    const after = await repository.commit(first);
    const id = randomUUID();
    expect((await deliver(web, { id, payload: pushPayload({ after }) })).status).toBe(202);
    expect((await web.request("GET", "/deliveries")).json.deliveries).toMatchObject([{ state: "received" }]);
    const worker = await process("worker", database, shared);
    expect(await workedOff(web, id)).toMatchObject({ state: "done", attempts: 1 });
    expect((await web.request("GET", "/agents")).json.catalog.commitSha).toBe(after);
    expect((await deliver(worker, { payload: pushPayload({ after }) })).status).toBe(404);
  });
});

describe("a change of the repository", () => {
  it("another default branch is served at once", async () => {
    const { app, github, repository, send, catalog } = await startGitHubService(first);
    const trunk = await repository.commit({ [path("two")]: spec("two") }, "trunk");
    github.served.defaultBranch = "trunk";
    const payload = examplePayload("repository-edited-branch");
    Object.assign(payload.repository, { full_name: "acme/agents", default_branch: "trunk" });
    expect(await send({ event: "repository", payload })).toMatchObject({ action: "edited", state: "done" });
    expect((await catalog()).commitSha).toBe(trunk);
    expect((await app.request("GET", "/workspace")).json.workspace.branch).toBe("trunk");
  });

  it("a push to a default branch that nobody told of is followed too", async () => {
    const { github, repository, send, catalog } = await startGitHubService(first);
    const after = await repository.commit({ [path("two")]: spec("two") }, "trunk");
    github.served.defaultBranch = "trunk";
    const repositoryFacts = { full_name: "acme/agents", default_branch: "trunk" };
    await send({ payload: pushPayload({ ref: "refs/heads/trunk", after, repository: repositoryFacts }) });
    expect((await catalog()).commitSha).toBe(after);
  });

  it("an App that loses the repository leaves the catalog as it was, stale, and gets it back", async () => {
    const { app, github, repository, send, catalog } = await startGitHubService(first);
    const known = await catalog();
    const payload = examplePayload("installation-repositories-removed");
    payload.repositories_removed[0].full_name = "acme/agents";
    github.setAccess(false);
    expect(await send({ event: "installation_repositories", payload })).toMatchObject({
      action: "removed",
      state: "done",
      reason: expect.stringContaining("acme/agents"),
    });
    expect(await catalog()).toMatchObject({
      commitSha: known.commitSha,
      stale: true,
      error: expect.stringContaining("install the App"),
    });
    expect((await app.request("GET", "/agents")).json.agents).toHaveLength(1);
    github.setAccess(true);
    const after = await repository.commit({ [path("one")]: spec("one", "back") });
    const added = { ...payload, action: "added", repositories_added: payload.repositories_removed };
    added.repositories_removed = [];
    expect(await send({ event: "installation_repositories", payload: added })).toMatchObject({
      state: "done",
    });
    expect(await catalog()).toMatchObject({ commitSha: after, stale: false });
  });
});
