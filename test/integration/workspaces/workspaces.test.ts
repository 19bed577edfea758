import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { ensureWorkspace, workspaceEndpoints } from "../../../src/workspaces/index.ts";
import { startApi } from "../../support/api.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { openConnections, setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("workspaces on %s", (engine) => {
  const database = useDatabase(engine);
  const deps = { ids: createIds(), clock: systemClock };

  test("the first workspace is made once", async () => {
    const { db } = database;
    const made = await db.transaction((tx) => ensureWorkspace(tx, deps));
    expect(made).toMatchObject({ slug: "default", id: expect.stringMatching(/^ws_/) });
    expect(await db.transaction((tx) => ensureWorkspace(tx, deps))).toEqual(made);
    expect(await db.read("workspaces")).toHaveLength(1);
  });

  test("those who ask at the same moment make one", async () => {
    const { db } = database;
    await openConnections(db);
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        db.transaction((tx) => ensureWorkspace(tx, { ...deps, ids: createIds() })),
      ),
    );
    expect(new Set(made.map((workspace) => workspace.id)).size).toBe(1);
    expect(await db.read("workspaces")).toHaveLength(1);
  });

  test("GET /workspace tells of the workspace and, through the port, of its repository", async () => {
    const { db } = database;
    const { access, workspaceId, addMember } = await setUpWorkspace(db);
    const repository = {
      repository: "acme/agents",
      branch: "main",
      commitSha: null,
      syncedAt: null,
      stale: true,
      error: "The repository cannot be reached.",
    };
    const asked: string[] = [];
    const endpoints = workspaceEndpoints({
      db,
      describeRepository: async (id) => {
        asked.push(id);
        return repository;
      },
    });
    const api = await startApi(endpoints, { db, ...access });
    onTestFinished(api.stop);
    const answer = await api.call("GET", "/workspace", { key: await addMember("vera", "viewer") });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      workspace: { id: workspaceId, slug: "default", createdAt: expect.stringMatching(/Z$/), ...repository },
    });
    expect(asked).toEqual([workspaceId]);
  });
});
