import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { startApp } from "../../support/app.ts";

const limited = { env: { ROLLCALL_API_RATE_LIMIT: "20", ROLLCALL_ROLES: "web,scheduler" } };

/** Windows are whole minutes: a test that would cross into the next one begins with it. */
beforeEach(async () => {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 5_000) await sleep(left + 10);
});

describe("more calls than a key has in a minute", () => {
  it("are 429 from exactly the next one on, with when to come back", async () => {
    const app = await startApp(limited);
    const key = await app.member("vera", "viewer");
    for (let left = 19; left >= 0; left--) {
      const { status, headers } = await app.request("GET", "/agents", { key });
      expect([status, headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")]).toEqual([
        200,
        "20",
        String(left),
      ]);
      expect(Number(headers.get("ratelimit-reset"))).toSatisfy(
        (seconds) => Number(seconds) >= 1 && Number(seconds) <= 60,
      );
    }
    for (let more = 0; more < 3; more++) {
      const { status, headers, json } = await app.request("GET", "/agents", { key });
      expect([status, headers.get("ratelimit-remaining")]).toEqual([429, "0"]);
      expect(headers.get("retry-after")).toMatch(/^([1-9]|[1-5]\d|60)$/);
      expect(Object.keys(json)).toEqual(["error"]);
    }
  });

  it("are counted one by one when they come at once", async () => {
    const app = await startApp(limited);
    const key = await app.member("vera", "viewer");
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => app.request("GET", "/tools", { key })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
  });

  it("are counted exactly where the limit is no multiple of the blocks it is taken in", async () => {
    const app = await startApp({ env: { ...limited.env, ROLLCALL_API_RATE_LIMIT: "41" } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => app.request("GET", "/tools")));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(41);
  });

  it("count for each key by itself, whatever they ask for", async () => {
    const app = await startApp(limited);
    const [vera, otto] = [await app.member("vera", "viewer"), await app.member("otto", "operator")];
    const calls: [string, string][] = [
      ["GET", "/agents"],
      ["GET", "/nothing-here"],
      ["GET", "/agents/nobody"],
      ["POST", "/runs"],
      ["GET", "/members"],
    ];
    const statuses = [];
    for (let index = 0; index < 25; index++) {
      const [method, path] = calls[index % calls.length] ?? ["GET", "/agents"];
      statuses.push((await app.request(method, path, { key: vera })).status);
    }
    // What is not there at all asks nobody who it is.
    expect(statuses.filter((status) => status === 404)).toHaveLength(10);
    expect(statuses.at(-1)).toBe(403);
    for (let index = 0; index < 3; index++)
      expect((await app.request("GET", "/agents", { key: otto })).status).toBe(200);
    expect((await app.request("GET", "/agents", { key: vera })).status).toBe(429);
  });

  it("do not touch what needs no key, and nothing is counted for unknown keys", async () => {
    const app = await startApp(limited);
    for (let index = 0; index < 25; index++) {
      expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
      expect((await app.request("GET", "/agents", { key: `rck_${"x".repeat(36)}` })).status).toBe(401);
    }
    expect(await app.db.read("rate_limits")).toEqual([]);
  });

  it("are as many as one likes when the limit is off", async () => {
    const app = await startApp({ env: { ROLLCALL_API_RATE_LIMIT: "0" } });
    const answers = await Promise.all(Array.from({ length: 100 }, () => app.request("GET", "/tools")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers[0]?.headers.get("ratelimit-limit")).toBeNull();
  });
});
