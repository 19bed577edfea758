import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { expectError, useUntouchedApp } from "../../support/bad-input.ts";
import { rawRequest, sendBytes } from "../../support/raw-request.ts";

describe("a request that is no proper HTTP", () => {
  const app = useUntouchedApp();
  const run = JSON.stringify({ agent: "hello", message: "never" });

  /** Bytes of POST /runs by the admin, with these header lines. */
  const post = (headers: readonly string[], body: string) =>
    [
      "POST /api/v1/runs HTTP/1.1",
      "Host: localhost",
      `Authorization: Bearer ${app().key}`,
      "Content-Type: application/json",
      ...headers,
      "",
      body,
    ].join("\r\n");

  it.each<[string, string, number]>([
    ["garbage", "\u0016\u0003\u0001\u0002 hello\r\n\r\n", 400],
    ["an unknown method", "BREW /api/v1/agents HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["a method in lower case", "get /api/v1/agents HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["another version", "GET /api/v1/agents HTTP/3.0\r\nHost: x\r\n\r\n", 400],
    ["no host", "GET /api/v1/agents HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["a header without a colon", "GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n", 400],
    ["a header with a NUL", "GET / HTTP/1.1\r\nHost: x\r\nX: a\u0000b\r\n\r\n", 400],
    ["a header with a bare line end", "GET / HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n", 400],
    ["a length below nothing", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400],
    ["a length that is none", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400],
    [
      "length and chunks",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["an unknown transfer", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n", 400],
    ["headers of 20 kB", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431],
    ["an address of 20 kB", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ])("is refused in the shape of all errors: %s", async (what, bytes, status) => {
    expectError(await sendBytes(app().port, bytes), status, what);
  });

  it("is refused: a chunk without a proper length", async () => {
    const chunks = "Transfer-Encoding: chunked";
    expectError(await sendBytes(app().port, post([chunks], "zz\r\n")), 400);
    expectError(await sendBytes(app().port, post([chunks], `5\r\n${run}\r\n0\r\n\r\n`)), 400);
  });

  it("is refused: a body longer than its length, of which the beginning is no JSON", async () => {
    const answer = await sendBytes(app().port, post(["Content-Length: 10"], run));
    expectError(answer, 400);
    expect(JSON.parse(answer.body).error).toContain("JSON");
  });

  it("does nothing when the client leaves before the body is complete", async () => {
    const before = app().logs().length;
    const socket = connect(app().port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(post(["Content-Length: 1000"], run));
    await new Promise<void>((resolve) => socket.end(resolve));
    socket.destroy();
    await expect.poll(() => app().logs().slice(before).join("")).toContain('"status":499');
  });

  it("waits for a body that comes in pieces", async () => {
    const socket = connect(app().port, "127.0.0.1");
    socket.setEncoding("utf8");
    let answer = "";
    socket.on("data", (text: string) => {
      answer += text;
    });
    await once(socket, "connect");
    const bytes = post(["Content-Length: 4", "Connection: close"], "");
    for (const piece of [bytes.slice(0, 30), bytes.slice(30), "n", "ul", "l"]) {
      await new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve)));
    }
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"details":\[\{"path":""/s);
  });

  it("answers the requests of one connection in their order, whatever follows them", async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = connect(app().port, "127.0.0.1");
    socket.setEncoding("utf8");
    let answers = "";
    socket.on("data", (text: string) => {
      answers += text;
    });
    await once(socket, "connect");
    socket.write(`${get("/api/v1/agents")}${get("/healthz")}${get("/nothing")}`);
    await expect
      .poll(() => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status))
      .toEqual(["401", "200", "404"]);
    socket.write("garbage\r\n\r\n");
    await once(socket, "close");
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      "401",
      "200",
      "404",
      "400",
    ]);
  });

  it("still answers a whole request that garbage follows at once", async () => {
    const answer = await sendBytes(app().port, `${post(["Content-Length: 4"], "null")}garbage`);
    expectError(answer, 400);
    expect(JSON.parse(answer.body).details).toEqual([{ path: "", message: expect.any(String) }]);
  });

  it("is answered as if it did not expect anything: an unknown Expect", async () => {
    const answer = await rawRequest(app().port, { target: "/api/v1/agents", headers: ["Expect: something"] });
    expectError(answer, 401);
  });

  it.each([
    ["empty", "Idempotency-Key: "],
    ["256 characters", `Idempotency-Key: ${"k".repeat(256)}`],
    ["with a space", "Idempotency-Key: a b"],
    ["sent twice", "Idempotency-Key: a\r\nIdempotency-Key: b"],
    ["beyond ASCII", "Idempotency-Key: \u00e4"],
    ["with terminal controls", "Idempotency-Key: \u009b31m"],
  ])("is 400 for each POST: an Idempotency-Key that is %s", async (what, header) => {
    for (const { method, path, body } of app().app.endpoints.filter((each) => each.method === "POST")) {
      const answer = await rawRequest(app().port, {
        method,
        target: `/api/v1${path.replaceAll(/\{\w+\}/g, "x")}`,
        headers: [`Authorization: Bearer ${app().key}`, "Content-Type: application/json", header],
        ...(body ? { body: "{}" } : {}),
      });
      expectError(answer, 400, `${path} ${what}`);
      expect(JSON.parse(answer.body).error, path).toContain("Idempotency-Key");
    }
  });

  it.each([
    ["terminal controls", "\u009b31m"],
    ["JSON", '"}{"level":"fatal"'],
    ["101 characters", "a".repeat(101)],
    ["spaces", "a b"],
    ["nothing", ""],
  ])("gets another X-Request-Id when its own holds %s", async (_what, id) => {
    const answer = await rawRequest(app().port, { target: "/healthz", headers: [`X-Request-Id: ${id}`] });
    expect(answer.headers["x-request-id"]).toMatch(/^req_[0-9A-Z]{26}$/);
  });

  it("keeps an X-Request-Id that is harmless, in the answer and in the log", async () => {
    const answer = await rawRequest(app().port, {
      target: "/healthz",
      headers: ["X-Request-Id: trace-1.2_3"],
    });
    expect(answer.headers["x-request-id"]).toBe("trace-1.2_3");
    await expect.poll(() => app().logs().join("")).toContain('"reqId":"trace-1.2_3"');
  });

  it("logs no query, no body, no key and no header", async () => {
    const secret = "a-secret-that-nobody-registered";
    await rawRequest(app().port, {
      method: "POST",
      target: `/api/v1/runs?token=${secret}`,
      headers: [
        `Authorization: Bearer ${secret}`,
        "Content-Type: application/json",
        `Cookie: ${secret}`,
        `X-Other: ${secret}`,
      ],
      body: JSON.stringify({ agent: secret }),
    });
    await rawRequest(app().port, { target: "/api/v1/runs", headers: [`Authorization: Bearer ${app().key}`] });
    const log = app().logs().join("");
    expect(log).not.toContain(secret);
    expect(log).not.toContain(app().key);
  });
});
