import { describe, expect, it } from "vitest";
import { startApp, useApp } from "../support/app.ts";
import { expectCleanLog, expectError } from "../support/bad-input.ts";
import { type RawRequest, rawRequest } from "../support/raw-request.ts";

interface Refusal {
  what: string;
  status: number;
  method?: string;
  path: string;
  body?: unknown;
  headers?: string[];
  /** The admin's key is sent unless this is true. */
  anonymous?: true;
  details?: unknown;
}

const json = "Content-Type: application/json";

const refusals: Refusal[] = [
  {
    what: "a field that does not fit",
    status: 400,
    method: "POST",
    path: "/runs",
    body: { agent: 1 },
    details: [{ path: "agent", message: expect.any(String) }],
  },
  {
    what: "two fields that do not fit",
    status: 400,
    method: "POST",
    path: "/members",
    body: {},
    details: [
      { path: "login", message: expect.any(String) },
      { path: "role", message: expect.any(String) },
    ],
  },
  {
    what: "an unknown field",
    status: 400,
    method: "POST",
    path: "/runs",
    body: { agent: "hello", mesage: "x" },
    details: [{ path: "mesage", message: expect.any(String) }],
  },
  { what: "no key", status: 401, path: "/agents", anonymous: true },
  { what: "an unknown agent", status: 404, path: "/agents/nobody" },
  { what: "an unknown run", status: 404, path: "/runs/run_nothing" },
  { what: "the events of an unknown run", status: 404, path: "/runs/run_nothing/events" },
  { what: "an unknown path", status: 404, path: "/nothing" },
  { what: "another method", status: 405, method: "PUT", path: "/runs" },
  {
    what: "a member twice",
    status: 409,
    method: "POST",
    path: "/members",
    body: { login: "admin", role: "viewer" },
  },
  { what: "the last admin's removal", status: 409, method: "DELETE", path: "/members/admin" },
  { what: "a body too large", status: 413, method: "POST", path: "/runs", body: "x".repeat(1024 * 1024) },
  {
    what: "another type",
    status: 415,
    method: "POST",
    path: "/runs",
    body: {},
    headers: ["Content-Type: text/plain"],
  },
  {
    what: "an invalid draft",
    status: 422,
    method: "POST",
    path: "/runs",
    body: { agent: "broken-on-purpose" },
    details: {
      problems: expect.arrayContaining([
        { message: expect.any(String), path: "model", line: expect.any(Number), column: expect.any(Number) },
      ]),
    },
  },
  {
    what: "no stable version",
    status: 422,
    method: "POST",
    path: "/runs",
    body: { agent: "hello", version: "stable" },
  },
];

describe("the one shape of all errors", () => {
  const app = useApp();

  async function send({ method, path, body, headers = [json], anonymous }: Refusal) {
    const request: RawRequest = { target: `/api/v1${path}`, headers: [...headers] };
    if (method) request.method = method;
    if (body !== undefined) request.body = JSON.stringify(body);
    if (!anonymous) request.headers = [...headers, `Authorization: Bearer ${app().key}`];
    return rawRequest(app().port, request);
  }

  it.each(refusals)("$status: $what", async (refusal) => {
    const answer = await send(refusal);
    expectError(answer, refusal.status, refusal.what);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(JSON.parse(answer.body).details).toEqual(refusal.details);
  });

  it("says how to go on with the answers that ask for it", async () => {
    const unauthorised = await rawRequest(app().port, { target: "/api/v1/agents" });
    expect(unauthorised.headers["www-authenticate"]).toBe("Bearer");
    const wrongMethod = await rawRequest(app().port, { method: "PUT", target: "/api/v1/runs" });
    expect(wrongMethod.headers.allow).toBe("GET, HEAD, POST");
  });

  it("gives each answer an id, also those that are no errors", async () => {
    const addresses = [
      "/healthz",
      "/readyz",
      "/metrics",
      "/schemas/agent.json",
      "/api/v1/openapi.json",
      "/api/v1/docs",
      "/api/v1/docs/start.js",
      "/api/v1/docs/swagger-ui.css",
      "/api/v1/agents",
      "/",
    ];
    const ids = await Promise.all(
      addresses.map(async (target) => (await rawRequest(app().port, { target })).headers["x-request-id"]),
    );
    for (const id of ids) expect(id).toMatch(/^req_[0-9A-Z]{26}$/);
    expect(new Set(ids).size).toBe(addresses.length);
  });

  it("names the server's software nowhere", async () => {
    const { headers } = await rawRequest(app().port, { target: "/api/v1/agents" });
    expect(Object.keys(headers)).not.toContain("x-powered-by");
    expect(Object.keys(headers)).not.toContain("server");
    expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
  });

  it("keeps keys out of all answers", async () => {
    for (const path of ["/members", "/api-keys", "/settings", "/audit-log", "/workspace", "/jobs"]) {
      const { status, text } = await app().request("GET", path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain(app().key);
      expect(text).not.toMatch(/[0-9a-f]{64}/);
    }
  });
});

describe("an error inside the service", () => {
  it("is a 500 that says nothing of its cause, which is in the log under the answer's id", async () => {
    const app = await startApp();
    await app.db.writer.schema.renameTable("runs", "runs_gone");
    const headers = [`Authorization: Bearer ${app.key}`];
    const target = "/api/v1/runs?agent=a-private-name";
    const answer = await rawRequest(app.port, { target, headers });
    expectError(answer, 500);
    expect(answer.body).not.toContain("runs");
    const reqId = answer.headers["x-request-id"];
    const logged = app
      .logs()
      .map((line) => JSON.parse(line))
      .find((line) => line.msg === "request failed");
    expect(logged).toMatchObject({
      level: "error",
      reqId,
      err: { message: expect.stringContaining("no such table") },
    });
    expect(app.logs().join("")).not.toContain("a-private-name");
    expectCleanLog(app.logs());
    await app.db.writer.schema.renameTable("runs_gone", "runs");
  });

  it("is a 500 as well when an answer has another shape than declared", async () => {
    const app = await startApp();
    await app.db.writer("runs").insert({
      ...{
        id: "run_x",
        workspace_id: app.workspaceId,
        agent: "a",
        framework: "f",
        version: "draft",
        commit_sha: "c",
      },
      ...{
        spec_sha: "s",
        status: "nonsense",
        trigger: "api",
        listed: 1,
        environment: "development",
        run_as: "admin",
      },
      ...{
        message: "m",
        tokens_input: 0,
        tokens_output: 0,
        tokens_cached: 0,
        created_at: 0,
        attempt: 0,
        tool_calls: 0,
      },
    });
    const answer = await rawRequest(app.port, {
      target: "/api/v1/runs",
      headers: [`Authorization: Bearer ${app.key}`],
    });
    expectError(answer, 500);
    expect(answer.body).not.toContain("nonsense");
  });
});
