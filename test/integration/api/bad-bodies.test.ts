import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../src/platform/http/index.ts";
import { expectError, useUntouchedApp } from "../../support/bad-input.ts";
import { rawRequest, sendBytes } from "../../support/raw-request.ts";

const json = "Content-Type: application/json";
const mebibyte = 1024 * 1024;

/** A body that fits, by operation: what the tests below break in one place. */
const fitting: Record<string, Record<string, unknown>> = {
  validateAgent: { content: "name: x", format: "yaml" },
  promoteAgent: { version: "draft" },
  createEval: { agent: "hello", eval: "cases: []", source: "ci" },
  approvePullRequest: { headSha: "a1".repeat(20) },
  handOver: { to: "ada" },
  createAutomation: { agent: "hello", schedule: "0 9 * * *" },
  changeAutomation: { enabled: false },
  createChatApp: {
    name: "Helper",
    agentLabels: ["chat"],
    secrets: { clientId: "1.2", clientSecret: "a-client-secret", signingSecret: "a-signing-secret-of-slack" },
  },
  updateChatApp: { name: "Helper" },
  createAgentChange: { name: "greeter", description: "Greets people." },
  createTrigger: { connection: "ca_1", slug: "A_TRIGGER", config: {} },
  updateTrigger: { enabled: false },
  createRun: { agent: "hello", message: "Hello", version: "draft" },
  addMember: { login: "new-one", role: "viewer" },
  changeMemberRole: { role: "viewer" },
  createApiKey: { name: "key", member: "admin" },
  updateApiKey: { enabled: true },
  createWebhook: { name: "orders", tools: [] },
  updateWebhook: { name: "orders", enabled: true, tools: [] },
  updateSettings: { modelKeys: { openai: { apiKey: "sk-example-example" } } },
};

const malformed: [string, string | Uint8Array][] = [
  ["nothing", ""],
  ["white space", " \n\t "],
  ["half an object", '{"a":'],
  ["an object and more", '{"a":1} {"b":2}'],
  ["single quotes", "{'a':1}"],
  ["a bare word", "undefined"],
  ["NaN", '{"a":NaN}'],
  ["a comment", '{"a":1 /* one */}'],
  ["a trailing comma", '{"a":1,}'],
  ["a raw line end in a string", '{"a":"one\ntwo"}'],
  ["a raw NUL", '{"a":"\0"}'],
  ["a raw control character", '{"a":"\u0007"}'],
  ["half an escape", '{"a":"\\u12"}'],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ["an overlong NUL", Buffer.from([0x22, 0xc0, 0x80, 0x22])],
  ["a raw surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ["half a character", Buffer.from([0x22, 0xf0, 0x9f, 0x98, 0x22])],
  ["UTF-16 without a mark", Buffer.from('{"a":1}', "utf16le")],
  ["UTF-16 with a mark", Buffer.from('\ufeff{"a":1}', "utf16le")],
  ["UTF-32", Buffer.from([0x7b, 0, 0, 0, 0x7d, 0, 0, 0])],
  ["two byte order marks", "\ufeff\ufeff{}"],
  ["arrays in arrays, 10,000 deep", "[".repeat(10_000) + "]".repeat(10_000)],
  ["objects in objects, 10,000 deep", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
  ["100,000 items", `[${"1,".repeat(100_000)}1]`],
  ["100,000 fields", `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":1`).join(",")}}`],
];

const misfits: [string, string][] = [
  ["null", "null"],
  ["a truth value", "true"],
  ["a number", "12"],
  ["a number beyond all", "1e999"],
  ["a string", '"text"'],
  ["an array", "[]"],
  ["an array of objects", "[{}]"],
];

const contentTypes: [string, string[]][] = [
  ["none", []],
  ["plain text", ["Content-Type: text/plain"]],
  ["a form", ["Content-Type: application/x-www-form-urlencoded"]],
  ["several parts", ["Content-Type: multipart/form-data; boundary=x"]],
  ["JSON in UTF-16", ["Content-Type: application/json; charset=utf-16le"]],
  ["JSON in Latin 1", ["Content-Type: application/json; charset=iso-8859-1"]],
  ["a name that begins alike", ["Content-Type: application/jsonp"]],
  ["several types", ["Content-Type: application/json, text/plain"]],
  ["a charset of 10 kB", [`Content-Type: application/json; charset=${"x".repeat(10_000)}`]],
];

describe("a body that cannot be used", () => {
  const app = useUntouchedApp();
  const takingBodies = () => app().app.endpoints.filter((endpoint) => endpoint.body);
  const addressOf = ({ path }: Endpoint) => `/api/v1${path.replaceAll(/\{\w+\}/g, "nobody-has-this")}`;

  function send(endpoint: Endpoint, body: string | Uint8Array, headers: readonly string[] = [json]) {
    const authorization = `Authorization: Bearer ${app().key}`;
    const { method } = endpoint;
    return rawRequest(app().port, {
      method,
      target: addressOf(endpoint),
      headers: [authorization, ...headers],
      body,
    });
  }

  it("has an example for each endpoint that takes one", () => {
    const ids = takingBodies().map(({ id }) => id);
    expect(ids.sort()).toEqual(Object.keys(fitting).sort());
    for (const { id, body } of takingBodies()) expect(body?.safeParse(fitting[id]).success, id).toBe(true);
  });

  it.each(malformed)("is 400 everywhere: %s", async (what, body) => {
    for (const endpoint of takingBodies()) {
      const answer = await send(endpoint, body);
      expectError(answer, 400, `${endpoint.id} ${what}`);
      // Refused as a whole: nobody looked for fields in it.
      expect(JSON.parse(answer.body)).not.toHaveProperty("details");
    }
  });

  it.each(misfits)("is 400 everywhere: %s instead of an object", async (what, body) => {
    for (const endpoint of takingBodies()) {
      const answer = await send(endpoint, body);
      expectError(answer, 400, `${endpoint.id} ${what}`);
      expect(JSON.parse(answer.body).details).toEqual([{ path: "", message: expect.any(String) }]);
    }
  });

  it.each(["extra", "__proto__", "constructor", "toString", "hasOwnProperty", ""])(
    "is 400 and named: a field that is not known, %j",
    async (name) => {
      for (const endpoint of takingBodies()) {
        // Written by hand: an object literal would take __proto__ for something else.
        const known = JSON.stringify(fitting[endpoint.id]).slice(1, -1);
        const answer = await send(endpoint, `{${JSON.stringify(name)}:{"x":1},${known}}`);
        expectError(answer, 400, endpoint.id);
        expect(JSON.parse(answer.body).details).toEqual([{ path: name, message: expect.any(String) }]);
      }
    },
  );

  it("is 400 and names the field: a value of another type, also deep inside", async () => {
    const wrong = [null, true, 0, -1, 1.5, 1e308, "", [], [[]], {}, { a: 1 }, [null]];
    let refused = 0;
    for (const endpoint of takingBodies()) {
      for (const field of Object.keys(fitting[endpoint.id] ?? {})) {
        for (const value of wrong) {
          const body = { ...fitting[endpoint.id], [field]: value };
          if (endpoint.body?.safeParse(body).success) continue;
          const answer = await send(endpoint, JSON.stringify(body));
          expectError(answer, 400, `${endpoint.id} ${JSON.stringify(body)}`);
          const [{ path }] = JSON.parse(answer.body).details;
          expect(path.split(".")[0]).toBe(field);
          refused += 1;
        }
      }
    }
    expect(refused).toBeGreaterThan(90);
  });

  it.each([
    ["a lone high surrogate", "\ud800"],
    ["a lone low surrogate", "a\udc00b"],
    ["a NUL", "a\u0000b"],
    ["10 kB", "a".repeat(10_000)],
    ["10 kB of emoji", "😀".repeat(2_500)],
  ])("is 400: %s where a name belongs", async (what, name) => {
    const [createRun, addMember, createApiKey] = ["createRun", "addMember", "createApiKey"].map((id) =>
      takingBodies().find((endpoint) => endpoint.id === id),
    ) as Endpoint[];
    const attempts: [Endpoint | undefined, object][] = [
      [createRun, { agent: name }],
      [addMember, { login: name, role: "viewer" }],
      [createApiKey, { name }],
      [createApiKey, { name: "key", member: name }],
    ];
    for (const [endpoint, body] of attempts) {
      if (!endpoint) throw new Error("An endpoint has another name.");
      expectError(await send(endpoint, JSON.stringify(body)), 400, `${endpoint.id} ${what}`);
    }
  });

  it.each([
    ["a lone surrogate", "\ud800"],
    ["a NUL", "\u0000"],
  ])("is 400: %s in a message", async (_what, message) => {
    const answer = await app().request("POST", "/runs", { body: { agent: "hello", message } });
    expect([answer.status, answer.json.details[0].path]).toEqual([400, "message"]);
  });

  it.each([
    ["terminal controls", "\u001b[31mred\u0007\r\nlevel: fatal"],
    ["C1 controls", "\u0085\u009b31m"],
    ["text that runs backwards", "\u202egnp.exe\u2066"],
    ["line separators", "\u2028\u2029"],
  ])("is 400, and kept out of the log: %s in a name", async (_what, name) => {
    const body = { name };
    const answer = await app().request("POST", "/api-keys", { body });
    expect([answer.status, answer.json.details[0].path]).toEqual([400, "name"]);
    const unknown = await app().request("POST", "/runs", { body: { agent: name } });
    expect(unknown.status).toBe(404);
  });

  it("is a problem of the spec, not of the request: odd characters in what is validated", async () => {
    for (const content of [
      "\ud800",
      "\0",
      "name: \u001b[31m",
      "\u2028",
      "&a [*a, *a]",
      `a: ${"[".repeat(5_000)}`,
    ]) {
      const answer = await app().request("POST", "/agents/validate", { body: { content, format: "yaml" } });
      expect([answer.status, answer.json.valid, answer.json.problems.length > 0]).toEqual([200, false, true]);
    }
  });

  it.each(contentTypes)("is 415 everywhere: content type %s", async (what, headers) => {
    for (const endpoint of takingBodies())
      expectError(await send(endpoint, "{}", headers), 415, `${endpoint.id} ${what}`);
  });

  it.each(["gzip", "deflate", "br", "x-gzip", "nonsense"])(
    "is 415 everywhere: encoded with %s",
    async (encoding) => {
      for (const endpoint of takingBodies()) {
        const answer = await send(endpoint, gzipSync("{}"), [json, `Content-Encoding: ${encoding}`]);
        expectError(answer, 415, endpoint.id);
      }
    },
  );

  it("is 413 everywhere: one byte over 1 MiB, declared or in chunks", async () => {
    const body = `"${"a".repeat(mebibyte - 1)}"`;
    expect(Buffer.byteLength(body)).toBe(mebibyte + 1);
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    for (const endpoint of takingBodies()) {
      expectError(await send(endpoint, body), 413, endpoint.id);
      const target = addressOf(endpoint);
      const headers = [`Authorization: Bearer ${app().key}`, json, "Transfer-Encoding: chunked"];
      const head = [
        `${endpoint.method} ${target} HTTP/1.1`,
        "Host: localhost",
        "Connection: close",
        ...headers,
      ];
      const answer = await sendBytes(app().port, `${head.join("\r\n")}\r\n\r\n${chunked}`);
      expectError(answer, 413, `${endpoint.id} in chunks`);
    }
  });

  it("is 413 also where none is taken", async () => {
    const body = "a".repeat(mebibyte + 1);
    for (const endpoint of app().app.endpoints.filter((each) => !each.body)) {
      expectError(await send(endpoint, body), 413, endpoint.id);
    }
  });

  it("is read up to 1 MiB", async () => {
    const content = "a".repeat(mebibyte - 40);
    const endpoint = takingBodies().find(({ id }) => id === "validateAgent");
    if (!endpoint) throw new Error("An endpoint has another name.");
    const answer = await send(endpoint, JSON.stringify({ format: "yaml", content }));
    expect([400, 200]).toContain(answer.status);
  });

  it("is read with a byte order mark and any spelling of UTF-8", async () => {
    const endpoint = takingBodies().find(({ id }) => id === "validateAgent");
    if (!endpoint) throw new Error("An endpoint has another name.");
    const body = JSON.stringify(fitting.validateAgent);
    expect((await send(endpoint, `\ufeff${body}`)).status).toBe(200);
    for (const type of [
      "application/json;charset=UTF-8",
      'Application/JSON; charset="utf-8"',
      "application/json; x=y",
    ]) {
      expect((await send(endpoint, body, [`Content-Type: ${type}`])).status).toBe(200);
    }
  });

  it("is refused before it is read when the caller may not", async () => {
    const endpoint = takingBodies()[0];
    if (!endpoint) throw new Error("No endpoint takes a body.");
    const answer = await rawRequest(app().port, {
      method: endpoint.method,
      target: addressOf(endpoint),
      headers: [json],
      body: "{",
    });
    expectError(answer, 401);
  });
});
