import { rename } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { addWorkspace, catalogContent, createTestSync } from "../support/catalog.ts";
import { databases } from "../support/databases.ts";
import { startRunCluster } from "../support/run-cluster.ts";
import { agentFiles, eventsOf, runToEnd, specText } from "../support/run-requests.ts";

const model = "openai-compatible/test-model";
const files = {
  ...agentFiles({ echo: {}, reader: { model, connections: ["ROLLCALL_READ_FILE"] } }),
  "docs/guide.md": "Read me.\n",
};

const catalogOf = async (app: TestApp) => (await app.request("GET", "/agents")).json.catalog;

it("a repository that is away: the catalog says so and why, and its agents go on running", async () => {
  const { simulator, repository, ...cluster } = await startRunCluster("sqlite", files);
  const app = await cluster.join();
  const first = await catalogOf(app);
  expect(first).toMatchObject({ repository: repository.gitdir, stale: false, problems: [] });
  expect(first).not.toHaveProperty("error");
  await rename(repository.gitdir, `${repository.gitdir}-away`);
  await expect
    .poll(() => catalogOf(app), { timeout: 10_000 })
    .toMatchObject({
      ...{
        stale: true,
        commitSha: first.commitSha,
        syncedAt: first.syncedAt,
        error: expect.stringContaining(repository.gitdir),
      },
    });
  const { json } = await app.request("GET", "/agents");
  expect(json.agents.map((agent: { name: string; valid: boolean }) => [agent.name, agent.valid])).toEqual([
    ["echo", true],
    ["reader", true],
  ]);
  expect(await runToEnd(app, "echo", "still here")).toMatchObject({
    status: "succeeded",
    output: "still here",
  });
  // Only what needs the repository itself at this moment fails, and says what is wrong.
  const call = { toolCalls: [{ name: "ROLLCALL_READ_FILE", args: { path: "docs/guide.md" } }] };
  simulator.script(call);
  const failed = await runToEnd(app, "reader");
  expect(failed).toMatchObject({ status: "failed", failureCode: "tool_failed" });
  expect(failed.errorDetails).toContain(repository.gitdir);

  await rename(`${repository.gitdir}-away`, repository.gitdir);
  await expect.poll(() => catalogOf(app), { timeout: 10_000 }).toMatchObject({ stale: false });
  expect(await catalogOf(app)).not.toHaveProperty("error");
  simulator.script(call, { text: "I have read it." });
  const read = await runToEnd(app, "reader");
  expect(JSON.stringify(await eventsOf(app, read.id))).toContain("Read me.");
});

it("a service that starts while its repository is away serves what it knew", async () => {
  const { repository, ...cluster } = await startRunCluster("sqlite", files);
  await (await cluster.join()).stop();
  await rename(repository.gitdir, `${repository.gitdir}-away`);
  const app = await cluster.join();
  expect((await app.request("GET", "/agents")).json).toMatchObject({
    agents: [{ name: "echo" }, { name: "reader" }],
    catalog: { stale: true },
  });
  expect(await runToEnd(app, "echo")).toMatchObject({ status: "succeeded" });
  await rename(`${repository.gitdir}-away`, repository.gitdir);
});

describe.each(databases())("scheduler processes on %s", (engine) => {
  it("that sync at once, and die at it, leave the catalog of the last commit", async () => {
    const { repository, ...cluster } = await startRunCluster(engine, files);
    const scheduler = { ROLLCALL_ROLES: "scheduler" };
    const watcher = await cluster.join({ ROLLCALL_ROLES: "web" });
    const [first, second] = await Promise.all([cluster.spawn(scheduler), cluster.spawn(scheduler)]);
    const commit = (n: number) =>
      repository.commit({
        ...files,
        ...Object.fromEntries(
          Array.from({ length: 30 }, (_, index) => [
            `agents/ai-sdk/many-${index}.yaml`,
            (index + n) % 7 === 0 ? "broken: [" : specText(`many-${index}`, { description: `${n}` }),
          ]),
        ),
      });
    for (let n = 0; n < 6; n++) {
      await commit(n);
      await sleep(300);
      if (n === 2) await first.script.kill("SIGKILL");
    }
    const last = await commit(6);
    await expect
      .poll(async () => (await watcher.db.read("catalogs").first()).commit_sha, {
        timeout: 15_000,
        interval: 20,
      })
      .toBe(last);
    await second.script.kill("SIGTERM");
    const cold = await addWorkspace(watcher.db, "cold");
    await createTestSync(watcher.db, repository, cold).sync();
    const shared = await catalogContent(watcher.db, watcher.workspaceId);
    expect(shared).toEqual(await catalogContent(watcher.db, cold));
    expect(shared.agents.length).toBe(32);
  });
});
