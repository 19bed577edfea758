import { describe, expect, it } from "vitest";
import { expectError, useUntouchedApp } from "../../support/bad-input.ts";
import { rawRequest } from "../../support/raw-request.ts";

/** Where a name or an id stands in a path. */
const tricks: [string, string][] = [
  ["a step up", ".."],
  ["an escaped step up", "%2e%2e"],
  ["a doubly escaped step up", "%252e%252e"],
  ["an escaped slash", "a%2fb"],
  ["an escaped way out", "..%2f..%2fetc%2fpasswd"],
  ["an escaped backslash", "..%5c..%5cwindows"],
  ["a NUL", "%00"],
  ["a NUL at the end", "hello%00"],
  ["a line end", "a%0d%0aSet-Cookie:%20x=1"],
  ["terminal controls", "%1b%5b31m"],
  ["C1 controls", "%c2%9b31m"],
  ["text that runs backwards", "%e2%80%ae"],
  ["invalid UTF-8", "%ff"],
  ["a surrogate", "%ed%a0%80"],
  ["half an escape", "%2"],
  ["no escape", "%zz"],
  ["a space", "%20"],
  ["quotes", "%22%27%60"],
  ["SQL", "hello%27%20or%20%271%27=%271"],
  ["a wildcard", "%25"],
  ["a pattern", "{name}"],
  ["a property of all objects", "__proto__"],
  ["its constructor", "constructor"],
  ["upper case", "HELLO"],
  ["10 kB", "a".repeat(10_000)],
  ["10 kB of escapes", "%F0%9F%98%80".repeat(830)],
];

const nowhere: [string, string][] = [
  ["an unknown path", "/api/v1/nothing"],
  ["another version", "/api/v2/agents"],
  ["the API's root", "/api/v1"],
  ["the API's root with a slash", "/api/v1/"],
  ["a slash too many at the end", "/api/v1/agents/"],
  ["a slash too many within", "/api/v1//agents"],
  ["a slash too many at the start", "//api/v1/agents"],
  ["an address of another server", "//evil.example/api/v1/agents"],
  ["steps up", "/api/v1/agents/../agents"],
  ["escaped steps up", "/api/v1/%2e%2e/v1/agents"],
  ["the way out of the docs", "/api/v1/docs/../../../package.json"],
  ["the escaped way out of the docs", "/api/v1/docs/..%2f..%2fpackage.json"],
  ["another asset of the docs' package", "/api/v1/docs/index.html"],
  ["the docs as a folder", "/api/v1/docs/"],
  ["other letter case", "/API/V1/agents"],
  ["other letter case of a resource", "/api/v1/Agents"],
  ["another schema", "/schemas/..%2fpackage.json"],
  ["a backslash", "/api/v1\\agents"],
  ["a semicolon", "/api/v1/agents;x=1"],
  ["nothing but a star", "*"],
  ["a part for the reader", "/api/v1/nothing#/agents"],
  ["15 kB", `/${"a/".repeat(7_500)}`],
];

const queries: [string, string][] = [
  ["an unknown name", "surprise=1"],
  ["an empty name", "=1"],
  ["a property of all objects", "__proto__=1"],
  ["a property of a property", "__proto__[polluted]=1"],
  ["its constructor", "constructor=1"],
  ["10 kB of a name", `${"a".repeat(10_000)}=1`],
  ["a thousand names", Array.from({ length: 1_000 }, (_, index) => `a${index}=`).join("&")],
];

const limits = [
  "",
  "0",
  "-1",
  "201",
  "1000",
  "99999999999999999999",
  "1e2",
  "0x10",
  "1.5",
  "+5",
  " 5",
  "five",
  "NaN",
  "%00",
  "٥",
];
const cursors = ["", "%00", "'", "a b", "%27%20or%20%271", "x".repeat(601), "%ff", "..", "💥"];

describe("an address that cannot be used", () => {
  const app = useUntouchedApp();
  const send = (method: string, target: string, headers: readonly string[] = []) =>
    rawRequest(app().port, { method, target, headers: [`Authorization: Bearer ${app().key}`, ...headers] });

  it.each(tricks)("never is a server's error: %s for a name", async (what, trick) => {
    for (const { method, path, body } of app().app.endpoints.filter((each) => each.path.includes("{"))) {
      const target = `/api/v1${path.replaceAll(/\{\w+\}/g, trick)}`;
      const headers = body ? ["Content-Type: application/json"] : [];
      // 422: connections cannot be linked before a provider is configured, whatever the toolkit's name.
      expectError(await send(method, target, headers), [400, 404, 422], `${method} ${path} ${what}`);
    }
  });

  it.each(nowhere)("is 404 without a redirect: %s", async (what, target) => {
    for (const method of ["GET", "POST", "DELETE"])
      expectError(await send(method, target), 404, `${method} ${what}`);
  });

  it("is 404 without a key as well", async () => {
    expectError(await rawRequest(app().port, { target: "/api/v1/nothing" }), 404);
  });

  it("is 400: bytes that no address has", async () => {
    expectError(await send("GET", "/api/v1/agents/\u0085\u009b"), 400);
    expectError(await send("GET", "/api/v1/agents/a b"), 400);
    expectError(await send("GET", "/api/v1/agents/\u0000"), 400);
  });

  it.each(queries)("is 400 where one may read: a query with %s", async (what, query) => {
    for (const { method, path } of app().app.endpoints.filter((each) => each.method === "GET")) {
      const target = `/api/v1${path.replaceAll(/\{\w+\}/g, "x")}?${query}`;
      expectError(await send(method, target), 400, `${method} ${path} ${what}`);
    }
  });

  it.each(limits)("is 400: the limit %j", async (limit) => {
    for (const path of ["/agents", "/runs", "/api-keys", "/audit-log", "/jobs"]) {
      expectError(await send("GET", `/api/v1${path}?limit=${encodeURI(limit)}`), 400, path);
    }
  });

  it.each(cursors)("is 400: the cursor %j", async (cursor) => {
    for (const path of ["/agents", "/runs", "/api-keys", "/audit-log", "/jobs"]) {
      expectError(await send("GET", `/api/v1${path}?before=${encodeURI(cursor)}`), 400, path);
    }
  });

  it.each([
    "/agents?limit=1&limit=2",
    "/agents?limit[]=1",
    "/agents?limit[a]=1",
    "/runs?status=lost",
    "/runs?status=queued&status=failed",
    "/runs?status=QUEUED",
    "/runs?trigger=",
    "/runs?environment=",
    "/runs?environment=production,staging",
    "/runs?environment=,",
    "/runs?environment=production&environment=development",
    `/runs?environment=${"production,".repeat(900)}`,
    `/runs?agent=${"a".repeat(10_000)}`,
    "/runs/x?wait=-1",
    "/runs/x?wait=61",
    "/runs/x?wait=1.5",
    "/runs/x?wait=1&wait=2",
    "/runs/x?wait=forever",
    "/audit-log?actor=%00",
    "/audit-log?action=%0a",
    "/api-keys?member=..%2f",
  ])("is 400: %s", async (address) => {
    expectError(await send("GET", `/api/v1${address}`), 400, address);
  });

  it.each(["?agent=%ff", "?agent=%00", "?agent=%ed%a0%80", "?agent=nobody", "?agent=%27%20or%201=1"])(
    "finds nothing: /runs%s",
    async (query) => {
      const { status, body } = await send("GET", `/api/v1/runs${query}`);
      expect([status, JSON.parse(body)]).toEqual([200, { runs: [], nextBefore: null }]);
    },
  );

  it("takes a cursor that points between the pages, whatever name it has", async () => {
    const cursor = Buffer.from(`${"0".repeat(64)}zzz\u0000\ufffd`).toString("base64url");
    const { status, body } = await send("GET", `/api/v1/agents?before=${cursor}`);
    expect([status, JSON.parse(body).agents]).toEqual([200, []]);
  });
});

/** Whether an address of `path` is one of `pattern`, too. */
function fits(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  const fitting = wanted.every((part, index) => part.startsWith("{") || part === given[index]);
  return wanted.length === given.length && fitting;
}

describe("a method that an address does not take", () => {
  const app = useUntouchedApp();
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "SEARCH"];
  const publicPaths = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/v1/openapi.json",
    "/api/v1/docs",
    "/schemas/agent.json",
  ];

  it("is 405 with the methods that are taken", async () => {
    const { endpoints } = app().app;
    for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
      // An address like /agents/validate is also the one of an agent that has this name.
      const allowed = endpoints.filter((each) => fits(each.path, path)).map(({ method }) => method as string);
      if (allowed.includes("GET")) allowed.push("HEAD");
      for (const method of methods.filter((each) => !allowed.includes(each))) {
        const answer = await rawRequest(app().port, {
          method,
          target: `/api/v1${path.replaceAll(/\{\w+\}/g, "x")}`,
        });
        expectError(answer, 405, `${method} ${path}`);
        expect(answer.headers.allow).toBe([...new Set(allowed)].sort().join(", "));
      }
    }
  });

  it("is 405 where no key is needed", async () => {
    for (const target of publicPaths) {
      for (const method of methods.slice(1)) {
        const answer = await rawRequest(app().port, { method, target });
        expectError(answer, 405, `${method} ${target}`);
        expect(answer.headers.allow).toBe("GET, HEAD");
      }
    }
  });

  it("is answered like GET without the body when it is HEAD", async () => {
    const headers = [`Authorization: Bearer ${app().key}`];
    for (const target of ["/api/v1/agents", "/api/v1/agents/hello", "/api/v1/tools", ...publicPaths]) {
      const [get, head] = await Promise.all(
        ["GET", "HEAD"].map((method) => rawRequest(app().port, { method, target, headers })),
      );
      expect([target, head?.status, head?.body]).toEqual([target, 200, ""]);
      expect(head?.headers["content-type"]).toBe(get?.headers["content-type"]);
    }
    const unknown = await rawRequest(app().port, {
      method: "HEAD",
      target: "/api/v1/agents/nobody",
      headers,
    });
    expect([unknown.status, unknown.body]).toEqual([404, ""]);
    const keyless = await rawRequest(app().port, { method: "HEAD", target: "/api/v1/agents" });
    expect([keyless.status, keyless.body]).toEqual([401, ""]);
  });
});
