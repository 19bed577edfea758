import { describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../../support/app.ts";

const spec = (name: string, more = "") =>
  `name: ${name}\nframework: ai-sdk\nmodel: offline/echo\ninstructions: Answer briefly.\n${more}`;

const agents = (specs: Record<string, string>) =>
  Object.fromEntries(Object.entries(specs).map(([name, text]) => [`agents/ai-sdk/${name}`, text]));

async function listed(app: TestApp) {
  const { json } = await app.request("GET", "/agents");
  return json;
}

describe("the list of agents", () => {
  it("shows valid and invalid ones with all that belongs to them", async () => {
    const app = await startApp({
      files: agents({
        "good.yaml": spec("good", "labels: [one]\nconnections: [ROLLCALL_CURRENT_TIME]\n"),
        "good.eval.yaml": "cases:\n  - name: a\n    input: b\n    assert: {contains: b}\n",
        "bad.yaml": "name: bad\nframework: ai-sdk\n",
      }),
    });
    const { agents: found, catalog, nextBefore } = await listed(app);
    const head = catalog.commitSha;
    const common = {
      framework: "ai-sdk",
      versions: { stable: null, latest: null },
      commitSha: head,
      updatedAt: expect.any(String),
    };
    expect(found).toEqual([
      {
        ...common,
        ...{
          name: "bad",
          path: "agents/ai-sdk/bad.yaml",
          valid: false,
          hasEvals: false,
          labels: [],
          connections: [],
        },
        problems: expect.arrayContaining([
          { message: expect.stringContaining("model"), path: "model", line: 1, column: 1 },
        ]),
      },
      {
        ...common,
        ...{ name: "good", path: "agents/ai-sdk/good.yaml", valid: true, hasEvals: true },
        ...{ labels: ["one"], connections: ["ROLLCALL_CURRENT_TIME"] },
      },
    ]);
    expect(catalog).toEqual({
      repository: expect.any(String),
      commitSha: expect.stringMatching(/^[0-9a-f]{40}$/),
      syncedAt: expect.any(String),
      stale: false,
      problems: [],
    });
    expect(nextBefore).toBeNull();
  });

  it("visits each agent once, page by page, also those of one name", async () => {
    const names = ["a", "b", "b-2", "c", "d", "z"];
    const files = agents(Object.fromEntries(names.map((name) => [`${name}.yaml`, spec(name)])));
    const app = await startApp({
      files: { ...files, "agents/ai-sdk/b.json": "{}", "agents/ai-sdk/b.yml": "" },
    });
    const visited: string[] = [];
    for (let address = "/agents?limit=2", pages = 0; pages < 10; pages++) {
      const { json } = await app.request("GET", address);
      expect(json.agents.length).toBeLessThanOrEqual(2);
      visited.push(...json.agents.map(({ path }: { path: string }) => path));
      if (json.nextBefore === null) break;
      address = `/agents?limit=2&before=${json.nextBefore}`;
    }
    expect(visited.map((path) => path.replace(/^agents\/ai-sdk\//, "").replace(/\..*/, ""))).toEqual([
      "a",
      "b",
      "b",
      "b",
      "b-2",
      "c",
      "d",
      "z",
    ]);
    expect(new Set(visited).size).toBe(8);
  });

  it("warns of tools that nobody provides and says which are near", async () => {
    const app = await startApp({
      files: agents({ "late.yaml": spec("late", "connections: [ROLLCALL_CURENT_TIME, GMAIL_SEND]\n") }),
    });
    const [late] = (await listed(app)).agents;
    expect(late.valid).toBe(true);
    expect(
      late.warnings.map(({ message, path }: { message: string; path: string }) => [path, message]),
    ).toEqual([
      ["connections[0]", expect.stringContaining("ROLLCALL_CURRENT_TIME")],
      ["connections[1]", expect.stringContaining("GMAIL_SEND")],
    ]);
  });

  it("says of two files with one name that neither is valid, and names the other in each", async () => {
    const app = await startApp({
      files: agents({
        "twin.yaml": spec("twin"),
        "twin.json": JSON.stringify({
          name: "twin",
          framework: "ai-sdk",
          model: "offline/echo",
          instructions: "x",
        }),
      }),
    });
    const twins = (await listed(app)).agents;
    expect(twins.map(({ path, valid }: { path: string; valid: boolean }) => [path, valid]).sort()).toEqual([
      ["agents/ai-sdk/twin.json", false],
      ["agents/ai-sdk/twin.yaml", false],
    ]);
    for (const twin of twins) {
      const other = twin.path.endsWith("json") ? "twin.yaml" : "twin.json";
      expect(twin.problems[0].message).toContain(other);
    }
    const run = await app.request("POST", "/runs", { body: { agent: "twin" } });
    expect([run.status, run.json.details.problems.length]).toEqual([422, 1]);
    await app.commit({ "agents/ai-sdk/twin.json": null });
    expect((await app.request("POST", "/runs", { body: { agent: "twin" } })).status).toBe(202);
  });

  it("lists an eval file without an agent among the catalog's problems, and a broken one at its agent", async () => {
    const app = await startApp({
      files: agents({
        "orphan.eval.yaml": "cases: []\n",
        "tested.yaml": spec("tested"),
        "tested.eval.yaml": "cases: 12\n",
      }),
    });
    const { agents: found, catalog } = await listed(app);
    expect(catalog.problems).toEqual([
      {
        path: "agents/ai-sdk/orphan.eval.yaml",
        message: expect.stringContaining("orphan"),
        line: 1,
        column: 1,
      },
    ]);
    expect(found).toMatchObject([
      { name: "tested", valid: true, hasEvals: true, evalProblems: [{ path: "cases" }] },
    ]);
  });
});

describe("one agent", () => {
  it("has the text of its file as it is", async () => {
    const text = `# Größe 😀\r\n${spec("odd")}\n\n`;
    const app = await startApp({ files: agents({ "odd.yaml": text }) });
    const { json } = await app.request("GET", "/agents/odd");
    expect(json.agent).toMatchObject({ name: "odd", format: "yaml", spec: text });
    expect(json.agent).not.toHaveProperty("lastValidSpec");
  });

  it("is 404 under a name that no file has, and gone when its file is", async () => {
    const app = await startApp({ files: agents({ "here.yaml": spec("here") }) });
    expect((await app.request("GET", "/agents/there")).status).toBe(404);
    await app.commit({ "agents/ai-sdk/here.yaml": null, "agents/ai-sdk/there.yaml": spec("there") });
    expect((await app.request("GET", "/agents/here")).status).toBe(404);
    expect((await app.request("GET", "/agents/there")).json.agent.valid).toBe(true);
  });

  it("keeps its last valid spec while the current one is broken; its snapshots go on", async () => {
    const good = spec("steady");
    const app = await startApp({ files: agents({ "steady.yaml": good }) });
    const { spec_sha, commit_sha } = await app.db.read("agents").where({ name: "steady" }).first();
    await app.db.writer("agent_versions").insert({
      workspace_id: app.workspaceId,
      agent: "steady",
      number: 1,
      framework: "ai-sdk",
      spec_sha,
      commit_sha,
      stable: 1,
      created_at: 1,
    });
    const broken = "name: steady\nmodel: [";
    await app.commit({ "agents/ai-sdk/steady.yaml": broken });

    const { agent } = (await app.request("GET", "/agents/steady")).json;
    expect(agent).toMatchObject({
      valid: false,
      spec: broken,
      lastValidSpec: good,
      versions: { stable: 1, latest: 1 },
    });
    const run = (version?: string) =>
      app.request("POST", "/runs", { body: { agent: "steady", message: "m", version } });
    const draft = await run("draft");
    expect([draft.status, draft.json.details.problems[0].line]).toEqual([422, expect.any(Number)]);
    for (const version of [undefined, "stable", "1"]) {
      const { run_id } = (await run(version)).json;
      const { json } = await app.request("GET", `/runs/${run_id}?wait=30`);
      expect(json.run).toMatchObject({ status: "succeeded", version: "1", output: "m" });
    }

    await app.commit({ "agents/ai-sdk/steady.yaml": spec("steady", "retries: 0\n") });
    expect((await app.request("GET", "/agents/steady")).json.agent).not.toHaveProperty("lastValidSpec");
  });
});

describe("validating a spec", () => {
  it("tells of each problem where it is, in YAML and in JSON", async () => {
    const app = await startApp();
    const validate = async (content: string, format: string) =>
      (await app.request("POST", "/agents/validate", { body: { content, format } })).json;
    expect(await validate(spec("fine"), "yaml")).toEqual({
      valid: true,
      framework: "ai-sdk",
      name: "fine",
      format: "yaml",
      problems: [],
    });
    const yaml = await validate(spec("fine", "parameters:\n  maxSteps: 99\n"), "yaml");
    expect(yaml).toMatchObject({
      valid: false,
      name: "fine",
      problems: [{ path: "parameters.maxSteps", line: 6, column: 13 }],
    });
    const json = await validate('{"name": "fine",\n "framework": "ai-sdk",\n "modle": "x"}', "json");
    expect(json.problems).toContainEqual({ message: expect.any(String), path: "modle", line: 3, column: 2 });
    expect(await validate("", "yaml")).toMatchObject({ valid: false, framework: "", name: "" });
    const large = await validate(`# ${"a".repeat(200_000)}`, "yaml");
    expect(large).toMatchObject({
      valid: false,
      problems: [{ message: expect.stringContaining("128 KiB") }],
    });
  });
});
