import { generateKeyPairSync } from "node:crypto";
import nock from "nock";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openRepository, type PullRequestHost } from "../../../src/repositories/index.ts";
import { useHttpMocks } from "../../support/http-mocks.ts";

const SHA = "a".repeat(40);
const OTHER = "b".repeat(40);
const NOW = Date.parse("2026-01-02T03:04:05Z");
const REPOSITORY = "/repos/acme/agents";
const STATUSES = `${REPOSITORY}/statuses/${SHA}`;
const CHECK_RUNS = `${REPOSITORY}/check-runs`;
const integration = { message: "Resource not accessible by integration" };
const secondary = { message: "You have exceeded a secondary rate limit. Please wait a few minutes." };

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

useHttpMocks();

describe("GitHub's failures with pull requests", () => {
  const github = () => nock("https://api.github.com");
  let installation = 5000;
  let host: PullRequestHost;

  const giveToken = (token = `ghs_${Math.random()}`) =>
    github()
      .post(`/app/installations/${installation}/access_tokens`)
      .reply(201, { token, expires_at: new Date(Date.now() + 3_600_000).toISOString() });

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
    installation += 1;
    github().get(`${REPOSITORY}/installation`).reply(200, { id: installation });
    giveToken();
    const app = { appId: "1", privateKey };
    const opened = openRepository({ kind: "github", owner: "acme", repo: "agents", app }).host;
    if (opened === undefined) throw new Error("A repository on GitHub has pull requests.");
    host = opened;
  });

  afterEach(() => void vi.useRealTimers());

  const postStatus = () =>
    host.postStatus({
      sha: SHA,
      context: "rollcall/evals",
      state: "success",
      description: "All passed.",
      targetUrl: "https://rollcall.test/",
    });
  const postCheckRun = (id?: number) =>
    host.postCheckRun({
      sha: SHA,
      name: "Rollcall evals",
      state: "success",
      detailsUrl: undefined,
      report: { title: "All passed", summary: "x", annotations: [] },
      id,
    });
  const noPermission = {
    refused:
      "The GitHub App may not write commit statuses: give it the permission and accept it for the installation.",
  };
  const invalid = (message: string) => ({
    message: "Validation Failed",
    errors: [{ resource: "Status", code: "custom", message }],
  });

  it("are none for a status that GitHub takes", async () => {
    const sent = {
      context: "rollcall/evals",
      state: "success",
      description: "All passed.",
      target_url: "https://rollcall.test/",
    };
    github().post(STATUSES, sent).reply(201, { id: 1, state: "success" });
    expect(await postStatus()).toEqual({ posted: true });
  });

  describe("refusals of a status", () => {
    it.each([
      ["403 without the permission", 403, integration, noPermission.refused],
      [
        "403 of an archived repository",
        403,
        { message: "Repository was archived so is read-only." },
        "archived",
      ],
      ["422 of an unknown commit", 422, { message: `No commit found for SHA: ${SHA}` }, "push it"],
      [
        "422 of too many",
        422,
        invalid("This SHA and context has reached the maximum number of statuses."),
        "another commit",
      ],
      ["422 of a field", 422, invalid("description is too long"), "description is too long"],
      ["422 without a word", 422, "", "takes no commit statuses here:"],
      ["422 of another shape", 422, { message: 7, errors: ["x"] }, "takes no commit statuses here:"],
      ["410", 410, { message: "Gone" }, "(Gone)"],
    ])("%s: said once, and nothing is stopped by it", async (_, code, body, said) => {
      github().post(STATUSES).reply(code, body);
      expect(await postStatus()).toEqual({ refused: expect.stringContaining(said) });
      github().post(STATUSES).reply(201, {});
      expect(await postStatus()).toEqual({ posted: true });
    });

    it("404 means the permission when the repository is there", async () => {
      github().post(STATUSES).reply(404, { message: "Not Found" });
      github().get(REPOSITORY).reply(200, { default_branch: "main" });
      expect(await postStatus()).toEqual(noPermission);
    });

    it("404 is no refusal when the repository is not there", async () => {
      github().post(STATUSES).reply(404, { message: "Not Found" });
      github().get(REPOSITORY).reply(404, { message: "Not Found" });
      await expect(postStatus()).rejects.toMatchObject({ reason: "not_found" });
    });

    it("403 while access is asked for is no refusal: an App that is suspended comes back", async () => {
      nock.cleanAll();
      github().get(`${REPOSITORY}/installation`).reply(200, { id: installation });
      const suspended = { message: "This installation has been suspended" };
      github().post(`/app/installations/${installation}/access_tokens`).reply(403, suspended);
      await expect(postStatus()).rejects.toMatchObject({ reason: "forbidden" });
    });
  });

  describe("limits", () => {
    const reset = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 900) };

    it.each([
      ["429 with a time", 429, { message: "slow down" }, { "retry-after": "7" }, 7],
      ["429 without a time", 429, {}, {}, 60],
      ["403, primary", 403, { message: "API rate limit exceeded" }, reset, 901],
      ["403, secondary with a time", 403, secondary, { "retry-after": "33" }, 33],
      ["403, secondary without a time", 403, secondary, {}, 60],
    ])("%s: the status waits, and so does all else", async (_, code, body, headers, seconds) => {
      github().post(STATUSES).reply(code, body, headers);
      const failure = {
        name: "RepositoryUnavailable",
        reason: "rate_limited",
        retryAt: NOW + seconds * 1000,
      };
      await expect(postStatus()).rejects.toMatchObject(failure);
      vi.setSystemTime(NOW + seconds * 1000 - 1);
      await expect(postStatus()).rejects.toMatchObject(failure);
      await expect(host.pullRequest(7)).rejects.toMatchObject(failure);
      vi.setSystemTime(NOW + seconds * 1000);
      github().post(STATUSES).reply(201, {});
      expect(await postStatus()).toEqual({ posted: true });
    });
  });

  describe("outages", () => {
    it.each([
      ["500", () => github().post(STATUSES).times(2).reply(500, { message: "oops" })],
      ["a reset connection", () => github().post(STATUSES).times(2).replyWithError("read ECONNRESET")],
    ])("%s, twice, leave the status for another time", async (_, fail) => {
      fail();
      await expect(postStatus()).rejects.toMatchObject({ reason: "unreachable", retryAt: undefined });
    });

    it("one 502 is nothing to a status", async () => {
      github().post(STATUSES).reply(502, "<html>");
      github().post(STATUSES).reply(201, {});
      expect(await postStatus()).toEqual({ posted: true });
    });

    it.each([
      ["a new check run", undefined, () => github().post(CHECK_RUNS)],
      ["a change of a check run", 7, () => github().patch(`${CHECK_RUNS}/7`)],
    ])("one 502 ends %s, which may have been done", async (_, id, sent) => {
      sent().reply(502, "<html>");
      await expect(postCheckRun(id)).rejects.toMatchObject({ reason: "unreachable" });
    });

    it("a check run without an id is asked for again", async () => {
      github().post(CHECK_RUNS).reply(201, { status: "completed" });
      await expect(postCheckRun()).rejects.toMatchObject({ reason: "incomplete" });
    });
  });

  it("of an expired token are over with a new one, for a status and for a check run", async () => {
    nock.cleanAll();
    github().get(`${REPOSITORY}/installation`).reply(200, { id: installation });
    giveToken("first");
    github().post(STATUSES).matchHeader("authorization", "token first").reply(201, {});
    await postStatus();
    vi.setSystemTime(NOW + 600_000);
    for (const [path, token, next] of [
      [STATUSES, "first", "second"],
      [CHECK_RUNS, "second", "third"],
    ] as const) {
      github()
        .post(path)
        .matchHeader("authorization", `token ${token}`)
        .reply(401, { message: "Bad credentials" });
      giveToken(next);
      github().post(path).matchHeader("authorization", `token ${next}`).reply(201, { id: 7 });
      expect(await (path === STATUSES ? postStatus() : postCheckRun())).not.toHaveProperty("refused");
      vi.setSystemTime(Date.now() + 600_000);
    }
  });

  describe("answers that are not whole", () => {
    const json = { "content-type": "application/json; charset=utf-8" };
    const pull = {
      number: 7,
      state: "open",
      merged: false,
      user: { login: "ada" },
      author_association: "MEMBER",
      head: { sha: SHA, repo: null },
      base: { sha: OTHER, ref: "main", repo: { full_name: "acme/agents" } },
    };

    it.each([
      ["cut off", JSON.stringify(pull).slice(0, 60)],
      ["without a head", JSON.stringify({ ...pull, head: { repo: null } })],
      ["in a state that is new", JSON.stringify({ ...pull, state: "queued" })],
    ])("are never taken for a pull request: %s", async (_, body) => {
      github().get(`${REPOSITORY}/pulls/7`).reply(200, body, json);
      await expect(host.pullRequest(7)).rejects.toMatchObject({ reason: "incomplete" });
    });

    it("nor for a merge base", async () => {
      github()
        .get(`${REPOSITORY}/compare/${OTHER}...${SHA}?per_page=1&page=2`)
        .reply(200, { status: "ahead" });
      await expect(host.mergeBase(OTHER, SHA)).rejects.toMatchObject({ reason: "incomplete" });
    });
  });

  it("a comparison without a common commit has no merge base", async () => {
    const message = `No common ancestor between ${OTHER} and ${SHA}.`;
    github().get(`${REPOSITORY}/compare/${OTHER}...${SHA}?per_page=1&page=2`).reply(404, { message });
    github().get(REPOSITORY).reply(200, { default_branch: "main" });
    expect(await host.mergeBase(OTHER, SHA)).toBeUndefined();
  });
});
