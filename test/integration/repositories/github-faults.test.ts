import { generateKeyPairSync } from "node:crypto";
import nock from "nock";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openRepository, type RepositoryReader } from "../../../src/repositories/index.ts";
import { objectId } from "../../../src/repositories/object-id.ts";
import { useHttpMocks } from "../../support/http-mocks.ts";

const SHA = "a".repeat(40);
const NOW = Date.parse("2026-01-02T03:04:05Z");
const REF = "/repos/acme/agents/git/ref/heads%2Fmain";
const TREE = `/repos/acme/agents/git/trees/${SHA}%3Aagents?recursive=1`;
const BLOB = "/repos/acme/agents/git/blobs";
const refBody = { ref: "refs/heads/main", object: { type: "commit", sha: SHA } };
const secondary = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

useHttpMocks();

describe("GitHub's failures", () => {
  const github = () => nock("https://api.github.com");
  let installation = 1000;
  let reader: RepositoryReader;

  const giveToken = () =>
    github()
      .post(`/app/installations/${installation}/access_tokens`)
      .reply(201, {
        token: `ghs_${Math.random()}`,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      });

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
    // Octokit paces GraphQL calls by installation: a number of its own keeps each test free of the others.
    installation += 1;
    github().get("/repos/acme/agents/installation").reply(200, { id: installation });
    giveToken();
    const app = { appId: "1", privateKey };
    reader = openRepository({ kind: "github", owner: "acme", repo: "agents", branch: "main", app }).reader;
  });

  afterEach(() => void vi.useRealTimers());

  describe("rate limits", () => {
    const reset = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 900) };

    it.each([
      ["403, primary", 403, { message: "API rate limit exceeded" }, reset, 901],
      ["429, primary", 429, { message: "API rate limit exceeded" }, reset, 901],
      ["403, secondary with a time", 403, secondary, { "retry-after": "33" }, 33],
      ["403, secondary without a time", 403, secondary, {}, 60],
      ["429 with a time", 429, { message: "slow down" }, { "retry-after": "7" }, 7],
      ["429 without a time", 429, "slow down", {}, 60],
      ["a reset that has passed", 403, {}, { ...reset, "x-ratelimit-reset": "1" }, 1],
      ["a time that is none", 429, {}, { "retry-after": "soon" }, 60],
    ])("%s: nothing is sent before it is over", async (_, status, body, headers, seconds) => {
      github().get(REF).reply(status, body, headers);
      const failure = {
        name: "RepositoryUnavailable",
        reason: "rate_limited",
        retryAt: NOW + seconds * 1000,
      };
      await expect(reader.head()).rejects.toMatchObject(failure);
      vi.setSystemTime(NOW + seconds * 1000 - 1);
      await expect(reader.head()).rejects.toMatchObject(failure);
      await expect(reader.tree(SHA)).rejects.toMatchObject(failure);
      vi.setSystemTime(NOW + seconds * 1000);
      github().get(REF).reply(200, refBody);
      expect(await reader.head()).toBe(SHA);
    });

    it.each([
      [
        "of GraphQL's own points",
        200,
        { data: null, errors: [{ type: "RATE_LIMITED", message: "limit" }] },
        reset,
      ],
      ["of GraphQL calls", 403, secondary, { "retry-after": "901" }],
    ])("%s count for all calls", async (_, status, body, headers) => {
      github().post("/graphql").reply(status, body, headers);
      const requests = ["1", "2"].map((digit) => ({ path: "agents/a.yaml", blobSha: digit.repeat(40) }));
      const failure = { reason: "rate_limited", retryAt: NOW + 901_000 };
      await expect(reader.blobs(requests, 1000)).rejects.toMatchObject(failure);
      await expect(reader.head()).rejects.toMatchObject(failure);
    });

    it("hold when they come while access is looked up", async () => {
      nock.cleanAll();
      github().get("/repos/acme/agents/installation").reply(403, secondary, { "retry-after": "20" });
      const failure = { reason: "rate_limited", retryAt: NOW + 20_000 };
      await expect(reader.head()).rejects.toMatchObject(failure);
      await expect(reader.head()).rejects.toMatchObject(failure);
    });
  });

  describe("refusals", () => {
    it("403 without a limit asks for the permission, and does not stop the next try", async () => {
      github().get(REF).reply(403, { message: "Resource not accessible by integration" });
      await expect(reader.head()).rejects.toMatchObject({ reason: "forbidden", retryAt: undefined });
      github().get(REF).reply(200, refBody);
      expect(await reader.head()).toBe(SHA);
    });

    it("404 for all of it says to install the App", async () => {
      github().get(REF).reply(404, { message: "Not Found" });
      github().get("/repos/acme/agents").reply(404, { message: "Not Found" });
      await expect(reader.head()).rejects.toMatchObject({
        reason: "not_found",
        message: expect.stringContaining("install the App"),
      });
    });

    it("401 is answered with one new token and one more try", async () => {
      github().get(REF).reply(200, refBody);
      await reader.head();
      vi.setSystemTime(NOW + 600_000);
      github().get(REF).reply(401, { message: "Bad credentials" });
      giveToken();
      // Octokit takes a 401 right after a new token for a delay at GitHub, and asks once more a second later.
      github()
        .get(REF)
        .reply(401, () => {
          vi.setSystemTime(NOW + 1_200_000);
          return { message: "Bad credentials" };
        });
      github().get(REF).reply(401, { message: "Bad credentials" });
      await expect(reader.head()).rejects.toMatchObject({ reason: "forbidden" });
    });
  });

  describe("outages", () => {
    it.each([
      ["500", () => github().get(REF).times(2).reply(500, { message: "oops" })],
      [
        "502 with a page",
        () => github().get(REF).times(2).reply(502, "<html>", { "content-type": "text/html" }),
      ],
      ["a reset connection", () => github().get(REF).times(2).replyWithError("read ECONNRESET")],
    ])("%s, twice, make the repository unreachable", async (_, fail) => {
      fail();
      await expect(reader.head()).rejects.toMatchObject({
        name: "RepositoryUnavailable",
        reason: "unreachable",
      });
    });

    it("one 502 is nothing", async () => {
      github().get(REF).reply(502, "<html>");
      github().get(REF).reply(200, refBody);
      expect(await reader.head()).toBe(SHA);
    });

    it("a reset connection in a GraphQL call makes the repository unreachable", async () => {
      github().post("/graphql").times(2).replyWithError("read ECONNRESET");
      const requests = ["1", "2"].map((digit) => ({ path: "agents/a.yaml", blobSha: digit.repeat(40) }));
      await expect(reader.blobs(requests, 1000)).rejects.toMatchObject({ reason: "unreachable" });
    });
  });

  describe("answers that are not whole", () => {
    const json = { "content-type": "application/json; charset=utf-8" };
    const item = { path: "a.yaml", mode: "100644", type: "blob", sha: SHA, size: 3 };

    it.each([
      ["cut off", `{"sha":"${SHA}","truncated":false,"tree":[{"path":"a.ya`],
      ["empty", ""],
      ["of another kind", JSON.stringify([{ message: "hello" }])],
      ["without ids", JSON.stringify({ sha: SHA, truncated: false, tree: [{ ...item, sha: "HEAD" }] })],
    ])("are never taken for a listing: %s", async (_, body) => {
      github().get(TREE).reply(200, body, json);
      await expect(reader.tree(SHA)).rejects.toMatchObject({ reason: "incomplete" });
    });

    it("nor is a listing that stays too long", async () => {
      github()
        .get(TREE)
        .reply(200, { sha: SHA, truncated: true, tree: [item] });
      const again = `/repos/acme/agents/git/trees/${SHA}`;
      github()
        .get(again)
        .reply(200, { sha: SHA, truncated: true, tree: [item] });
      await expect(reader.tree(SHA)).rejects.toMatchObject({ reason: "incomplete" });
    });

    it("nor is a ref that is none, or one of another name", async () => {
      github().get(REF).reply(200, [refBody]);
      await expect(reader.head()).rejects.toMatchObject({ reason: "incomplete" });
      github()
        .get(REF)
        .reply(200, { ...refBody, ref: "refs/heads/main-2" });
      github().get("/repos/acme/agents").reply(200, { default_branch: "main" });
      await expect(reader.head()).rejects.toMatchObject({ reason: "not_found" });
    });

    it("nor are other bytes than the ones asked for", async () => {
      const sha = objectId("blob", Buffer.from("right"));
      const content = Buffer.from("wrong").toString("base64");
      github().get(`${BLOB}/${sha}`).reply(200, { content, encoding: "base64", size: 5 });
      const wanted = [{ path: "agents/a.yaml", blobSha: sha }];
      await expect(reader.blobs(wanted, 1000)).rejects.toMatchObject({ reason: "incomplete" });
    });

    it("nor is a batch with an object missing", async () => {
      const [one, two] = ["one", "two"].map((text) => objectId("blob", Buffer.from(text)));
      const node = { byteSize: 3, isBinary: false, isTruncated: false, text: "one" };
      github()
        .post("/graphql")
        .reply(200, { data: { repository: { o0: node } } });
      const wanted = [one, two].map((blobSha = "") => ({ path: "agents/a.yaml", blobSha }));
      await expect(reader.blobs(wanted, 1000)).rejects.toMatchObject({ reason: "incomplete" });
    });
  });

  it("do not come of asking only for what is new", async () => {
    github().get(REF).reply(200, refBody, { etag: 'W/"one"' });
    expect(await reader.head()).toBe(SHA);
    github().get(REF).matchHeader("if-none-match", 'W/"one"').times(2).reply(304);
    expect([await reader.head(), await reader.head()]).toEqual([SHA, SHA]);
  });

  it("are reported without the App's key or token", async () => {
    github().get(REF).times(2).reply(500, { message: "oops" });
    const failure: Error = await reader.head().then(
      () => new Error("nothing failed"),
      (error) => error,
    );
    expect(failure.message).toContain("500");
    expect(JSON.stringify([failure.message, failure.cause])).not.toMatch(/ghs_|PRIVATE KEY-/);
  });
});
