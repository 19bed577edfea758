import { beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../src/platform/http/index.ts";
import { useApp } from "../support/app.ts";

interface Row {
  method: "GET" | "POST";
  path: string;
  role: Role;
  status: number;
  body?: unknown;
  /** Names that the answer has to have, and what they hold. */
  answer: unknown;
}

const text = expect.any(String);
const whole = expect.any(Number);
const list = expect.any(Array);
const spec = "name: fine\nframework: ai-sdk\nmodel: offline/echo\ninstructions: Be brief.\n";
const evals = "cases:\n  - name: a\n    input: b\n    assert: {equals: b}\n";

/** The endpoints of the specification that exist so far, in its words. `{run}` is the id of a run that succeeded, `{eval}` of a suite that ended. */
const rows: Row[] = [
  {
    method: "GET",
    path: "/agents",
    role: "viewer",
    status: 200,
    answer: {
      agents: expect.arrayContaining([
        expect.objectContaining({ name: "hello", valid: true }),
        expect.objectContaining({ name: "broken-on-purpose", valid: false }),
      ]),
    },
  },
  {
    method: "GET",
    path: "/agents/hello",
    role: "viewer",
    status: 200,
    answer: { agent: { name: "hello", spec: expect.stringContaining("name: hello") } },
  },
  {
    method: "POST",
    path: "/agents/validate",
    role: "viewer",
    status: 200,
    body: { content: spec, format: "yaml" },
    answer: { valid: true, framework: "ai-sdk", name: "fine", format: "yaml" },
  },
  { method: "GET", path: "/runs", role: "viewer", status: 200, answer: { runs: list } },
  {
    method: "POST",
    path: "/runs",
    role: "operator",
    status: 202,
    body: { agent: "hello", message: "Hello" },
    answer: { run_id: text },
  },
  {
    method: "GET",
    path: "/runs/{run}",
    role: "viewer",
    status: 200,
    answer: {
      run: {
        status: "succeeded",
        output: "Hello",
        tokensInput: whole,
        costUsd: 0,
        runEnvironment: "Development",
      },
    },
  },
  {
    method: "GET",
    path: "/tools",
    role: "viewer",
    status: 200,
    answer: {
      tools: expect.arrayContaining([
        expect.objectContaining({ source: "rollcall", provider: text, slug: "ROLLCALL_CURRENT_TIME" }),
      ]),
    },
  },
  {
    method: "GET",
    path: "/connections",
    role: "viewer",
    status: 200,
    answer: { connections: [{ source: "rollcall", provider: "rollcall", status: "active" }] },
  },
  {
    method: "POST",
    path: "/evals",
    role: "operator",
    status: 202,
    body: { agent: "fine", version: "draft", spec, eval: evals, commitSha: "a".repeat(40), source: "ci" },
    answer: { eval_id: text },
  },
  {
    method: "GET",
    path: "/evals?agent=hello",
    role: "viewer",
    status: 200,
    answer: { evals: expect.arrayContaining([expect.objectContaining({ agent: "hello", cases: list })]) },
  },
  {
    method: "GET",
    path: "/evals?agent=hello&latest=true",
    role: "viewer",
    status: 200,
    answer: { evals: [{ agent: "hello", status: text, passedCount: whole }] },
  },
  {
    method: "GET",
    path: "/evals/{eval}",
    role: "viewer",
    status: 200,
    answer: {
      eval: {
        status: "passed",
        passedCount: 2,
        cases: [
          { name: "greets back", passed: true, judgePassed: null },
          { name: "keeps the name and stays short", passed: true, judgePassed: null },
        ],
      },
    },
  },
];

const weaker: Partial<Record<Role, Role>> = { operator: "viewer", workspace_admin: "operator" };

describe("endpoints of the specification", () => {
  const app = useApp();
  const keys = {} as Record<Role, string>;
  let run = "";
  let suite = "";

  beforeAll(async () => {
    keys.viewer = await app().member("vera", "viewer");
    keys.operator = await app().member("otto", "operator");
    keys.workspace_admin = app().key;
    const created = await app().request("POST", "/runs", { body: { agent: "hello", message: "Hello" } });
    run = created.json.run_id;
    await app().request("GET", `/runs/${run}?wait=30`);
    const queued = await app().request("POST", "/evals", { body: { agent: "hello" } });
    suite = queued.json.eval_id;
    await app().request("GET", `/evals/${suite}?wait=30`);
  });

  it.each(rows)(
    "$method $path answers the $role as specified",
    async ({ method, path, role, status, body, answer }) => {
      const address = path.replace("{run}", run).replace("{eval}", suite);
      const response = await app().request(method, address, { key: keys[role], body });
      expect(response.status).toBe(status);
      expect(response.json).toMatchObject(answer as object);
    },
  );

  it.each(rows.filter(({ role }) => weaker[role]))("$method $path is refused below $role", async (row) => {
    const key = keys[weaker[row.role] ?? "viewer"];
    const response = await app().request(row.method, row.path, { key, body: row.body });
    expect(response.status).toBe(403);
  });

  it("answers POST /runs with nothing but the run's id", async () => {
    const response = await app().request("POST", "/runs", { body: { agent: "hello", message: "" } });
    expect(Object.keys(response.json)).toEqual(["run_id"]);
  });

  it("answers POST /evals with nothing but the suite's id", async () => {
    const response = await app().request("POST", "/evals", { body: { agent: "hello" } });
    expect(Object.keys(response.json)).toEqual(["eval_id"]);
  });

  it("lists no runs of eval cases unless they are asked for", async () => {
    const agents = async (query: string) =>
      (await app().request("GET", `/runs${query}`)).json.runs.map(
        (each: { trigger: string }) => each.trigger,
      );
    expect(await agents("")).not.toContain("eval");
    expect(new Set(await agents("?trigger=eval"))).toEqual(new Set(["eval"]));
  });

  it("says of an invalid spec what is wrong, and writes nothing", async () => {
    const body = { content: "name: [", format: "yaml" };
    const response = await app().request("POST", "/agents/validate", { key: keys.viewer, body });
    expect(response.status).toBe(200);
    expect(response.json).toMatchObject({ valid: false, framework: "", name: "", format: "yaml" });
    expect(response.json.problems[0]).toEqual({ message: text, path: text, line: whole, column: whole });
    expect((await app().request("GET", "/agents/fine")).status).toBe(404);
  });

  it("gives a failed run its code, message and recommendation, and the raw details to admins alone", async () => {
    const created = await app().request("POST", "/runs", { body: { agent: "release-notes", message: "x" } });
    const path = `/runs/${created.json.run_id}?wait=30`;
    const asAdmin = (await app().request("GET", path)).json.run;
    expect(asAdmin).toMatchObject({
      status: "failed",
      output: null,
      failureCode: "model_not_configured",
      errorMessage: text,
      failureRecommendation: text,
      errorDetails: text,
    });
    for (const key of [keys.viewer, keys.operator]) {
      const { errorDetails: _, ...shown } = asAdmin;
      expect((await app().request("GET", path, { key })).json.run).toEqual(shown);
      const listed = (await app().request("GET", "/runs?status=failed", { key })).text;
      expect(listed).toContain("model_not_configured");
      expect(listed).not.toContain("errorDetails");
    }
  });

  it("shows no token in the connections and tools", async () => {
    for (const path of ["/connections", "/tools"]) {
      expect((await app().request("GET", path)).text).not.toMatch(/token|secret|bearer/i);
    }
  });
});
