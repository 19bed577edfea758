import { beforeAll, describe, expect, it } from "vitest";
import { type TestApp, useApp } from "../../support/app.ts";

interface Listed {
  id: string;
  agent: string;
  status: string;
  trigger: string;
  source: string;
  runEnvironment: string;
}

/** Ids of runs that sort as their numbers do. */
const idOf = (number: number) => `run_01J${String(number).padStart(23, "0")}`;

async function insertRun(app: TestApp, number: number, row: object = {}) {
  await app.db.writer("runs").insert({
    ...{
      id: idOf(number),
      workspace_id: app.workspaceId,
      agent: "hello",
      framework: "ai-sdk",
      version: "draft",
    },
    ...{
      commit_sha: "c",
      spec_sha: "s",
      status: "succeeded",
      trigger: "api",
      listed: 1,
      environment: "development",
    },
    ...{
      run_as: "admin",
      message: "m",
      tokens_input: 0,
      tokens_output: 0,
      tokens_cached: 0,
      created_at: number,
    },
    ...{ attempt: 1, tool_calls: 0 },
    ...row,
  });
}

async function list(app: TestApp, query = ""): Promise<{ runs: Listed[]; nextBefore: string | null }> {
  const { status, json } = await app.request("GET", `/runs${query}`);
  expect([query, status]).toEqual([query, 200]);
  return json;
}

describe("the filters of the list of runs", () => {
  const app = useApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });
  const numbers = async (query: string) =>
    (await list(app(), query)).runs.map(({ id }) => Number(id.slice(7)));

  beforeAll(async () => {
    await insertRun(app(), 1);
    await insertRun(app(), 2, { status: "failed", failure_code: "timeout" });
    await insertRun(app(), 3, { agent: "triage", environment: "production", version: "1" });
    await insertRun(app(), 4, { trigger: "eval", listed: 0 });
    await insertRun(app(), 5, {
      trigger: "eval",
      listed: 0,
      agent: "triage",
      status: "failed",
      failure_code: "timeout",
    });
    await insertRun(app(), 6, { trigger: "webhook", agent: "Hello" });
    await insertRun(app(), 7, {
      trigger: "schedule",
      status: "running",
      environment: "production",
      version: "2",
    });
  });

  it.each<[string, number[]]>([
    ["", [7, 6, 3, 2, 1]],
    ["?status=failed", [2]],
    ["?status=running", [7]],
    ["?status=queued", []],
    ["?agent=triage", [3]],
    ["?agent=hello", [7, 2, 1]],
    ["?agent=Hello", [6]],
    ["?agent=hel", []],
    ["?trigger=api", [3, 2, 1]],
    ["?trigger=webhook", [6]],
    ["?trigger=event", []],
    ["?trigger=eval", [5, 4]],
    ["?trigger=eval&agent=triage", [5]],
    ["?trigger=eval&status=succeeded", [4]],
    ["?environment=production", [7, 3]],
    ["?environment=development", [6, 2, 1]],
    ["?environment=production,development", [7, 6, 3, 2, 1]],
    ["?environment=development,%20production", [7, 6, 3, 2, 1]],
    ["?environment=production,production", [7, 3]],
    ["?environment=production&status=running&agent=hello&trigger=schedule", [7]],
    ["?limit=2", [7, 6]],
    [`?before=${idOf(3)}`, [2, 1]],
    [`?before=${idOf(3)}&limit=1`, [2]],
    [`?before=${idOf(5)}&trigger=eval`, [4]],
    [`?before=${idOf(1)}`, []],
    ["?before=run_0", []],
  ])("%s", async (query, expected) => {
    expect(await numbers(query)).toEqual(expected);
  });

  it("tells how each run was started", async () => {
    const found = [...(await list(app())).runs, ...(await list(app(), "?trigger=eval")).runs];
    expect(Object.fromEntries(found.map(({ trigger, source }) => [trigger, source]))).toEqual({
      api: "API",
      webhook: "Event",
      schedule: "Schedule",
      eval: "Eval",
    });
  });
});

describe("the pages of the list of runs", () => {
  const app = useApp({ env: { ROLLCALL_ROLES: "web,scheduler" } });

  beforeAll(async () => {
    for (let number = 1; number <= 60; number++)
      await insertRun(app(), number, number % 3 === 0 ? { status: "failed", failure_code: "timeout" } : {});
  });

  it("holds 50 runs unless told", async () => {
    const { runs, nextBefore } = await list(app());
    expect([runs.length, nextBefore]).toEqual([50, runs[49]?.id]);
  });

  it.each([1, 7, 20, 60, 61, 200])(
    "visits each run once, newest first, %i at a time, while new ones come in",
    async (limit) => {
      const visited: string[] = [];
      let next: string | null = null;
      let pages = 0;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(
          app(),
          `?limit=${limit}${next ? `&before=${next}` : ""}`,
        );
        visited.push(...page.runs.map(({ id }) => id));
        next = page.nextBefore;
        pages += 1;
        if (pages === 1) await app().request("POST", "/runs", { body: { agent: "hello" } });
      } while (next);
      const old = visited.filter((id) => id.startsWith("run_01J000"));
      expect(old).toEqual(Array.from({ length: 60 }, (_, index) => idOf(60 - index)));
      expect(new Set(visited).size).toBe(visited.length);
    },
  );

  it("pages through what a filter leaves", async () => {
    const first = await list(app(), "?status=failed&limit=15");
    const second = await list(app(), `?status=failed&limit=15&before=${first.nextBefore}`);
    expect([first.runs.length, second.runs.length, second.nextBefore]).toEqual([15, 5, null]);
    expect([...first.runs, ...second.runs].map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => idOf(60 - 3 * index)),
    );
  });
});
