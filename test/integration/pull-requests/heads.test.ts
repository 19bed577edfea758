import { describe, expect, it } from "vitest";
import type { Subject } from "../../../src/pull-requests/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentWithEvals } from "../../support/eval-requests.ts";
import { openConnections } from "../../support/workspace.ts";
import { type PullRequestService, startPullRequests } from "./pull-request-service.ts";

const agent = (word: string) => agentWithEvals("refunds", [{ input: "Hello", assert: { contains: word } }]);

/** A base and some heads, each with another eval file. */
async function commits(service: PullRequestService, ...words: string[]): Promise<[string, ...string[]]> {
  const base = await service.commit({});
  const heads: string[] = [];
  for (const word of words) heads.push(await service.commit(agent(word)));
  return [base, ...heads];
}

const statesOf = async (service: PullRequestService, filter = "") => {
  const { body } = await service.call("GET", `/pull-requests${filter}`);
  return body.pullRequests.map(({ headSha, state }: { headSha: string; state: string }) => [headSha, state]);
};

describe.each(databases())("heads on %s", (engine) => {
  const database = useDatabase(engine);

  it("are made once, however often and at the same time they are delivered", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Hello");
    service.propose(1, head, base);
    await openConnections(database.db);
    await Promise.all(Array.from({ length: 6 }, () => service.consider(1)));
    await service.reached(1, "running");
    await service.consider(1);
    service.runEvals();
    await service.posted(head, "success");
    await service.consider(1);
    expect(await statesOf(service)).toEqual([[head, "success"]]);
    expect(await service.suites()).toHaveLength(1);
    expect(service.host.statuses.map(({ state }) => state)).toEqual(["pending", "success"]);
  });

  it("end the suites of a commit that was pushed over, and its runs", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    service.propose(1, first, base);
    await service.consider(1);
    await service.posted(first, "pending");
    service.propose(1, second, base);
    await service.consider(1);
    await service.reached(1, "running");
    expect(await statesOf(service)).toEqual([
      [second, "running"],
      [first, "superseded"],
    ]);
    const [old, current] = await service.suites();
    expect(old).toMatchObject({
      status: "error",
      error: `This commit was superseded by ${second.slice(0, 7)}.`,
    });
    expect(current?.status).toBe("queued");
    const runs = await database.db.read("runs").where({ eval_id: old?.id }).pluck("status");
    expect(runs).toEqual(["cancelled"]);
    service.runEvals();
    await service.posted(second, "success");
    expect((await service.posted(first, "pending")).map(({ state }) => state)).toEqual(["pending"]);
  });

  it("make no suites when they are pushed over while they are compared", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    service.host.onAsk = (what) => {
      if (what !== "mergeBase") return;
      asked.resolve();
      return answer.promise;
    };
    service.propose(1, first, base);
    await service.consider(1);
    await asked.promise;
    service.host.onAsk = () => {};
    service.propose(1, second, base);
    await service.consider(1);
    await service.reached(1, "running");
    answer.resolve();
    await expect.poll(() => service.jobKinds()).not.toContain("pull_request.plan");
    expect(await database.db.read("eval_suites").pluck("commit_sha")).toEqual([second]);
    expect(await statesOf(service)).toEqual([
      [second, "running"],
      [first, "superseded"],
    ]);
  });

  it("are not set back by a delivery that was answered with what was true before another one", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    service.host.onAsk = (what) => {
      if (what !== "pullRequest") return;
      asked.resolve();
      return answer.promise;
    };
    service.propose(1, first, base);
    const late = service.consider(1);
    await asked.promise;
    service.host.onAsk = () => {};
    service.propose(1, second, base);
    await service.consider(1);
    answer.resolve();
    expect(await late).toBe(second);
    expect((await service.reached(1, "running")).headSha).toBe(second);
    expect(await statesOf(service)).toEqual([[second, "running"]]);
  });

  it("end as one, whatever the order in which several processes hear of several pushes", async () => {
    const service = await startPullRequests(database.db);
    const words = Array.from({ length: 5 }, (_, index) => `word ${index}`);
    const [base, ...heads] = await commits(service, ...words);
    await openConnections(database.db);
    const pushes = heads.map(async (head) => {
      service.propose(1, head, base);
      await service.consider(1);
    });
    await Promise.all(pushes);
    const { headSha } = await service.reached(1, "running");
    expect(headSha).toBe(heads.at(-1));
    const states = await statesOf(service);
    expect(states.filter(([, state]: string[]) => state !== "superseded")).toEqual([
      [heads.at(-1), "running"],
    ]);
  });

  it("come back with a forced push, and are evaluated again", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    for (const head of [first, second, first]) {
      service.propose(1, head, base);
      await service.consider(1);
      expect((await service.reached(1, "running")).headSha).toBe(head);
    }
    expect((await service.suites()).map(({ status }) => status)).toEqual(["error", "error", "queued"]);
    service.runEvals();
    expect(await service.reached(1, "success")).toMatchObject({ headSha: first });
    expect(await service.reached(1, "success")).not.toHaveProperty("reason");
    await service.posted(first, "success");
  });

  it("wait for a draft to be made ready", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    service.propose(1, first, base, { draft: true });
    await service.consider(1);
    expect((await service.call("GET", "/pull-requests/1")).status).toBe(404);
    service.propose(1, first, base);
    await service.consider(1);
    await service.reached(1, "running");
    service.propose(1, second, base, { draft: true });
    await service.consider(1);
    expect(await statesOf(service)).toEqual([[first, "superseded"]]);
  });

  it("are compared again when they are to be merged elsewhere", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Hello");
    service.propose(1, head, base);
    await service.consider(1);
    await service.reached(1, "running");
    // There the agent is as it is here.
    service.propose(1, head, head, { baseRef: "next" });
    await service.consider(1);
    const { agents, baseSha, baseRef } = await service.reached(1, "success");
    expect([agents, baseSha, baseRef]).toEqual([[], head, "next"]);
    expect((await service.suites())[0]).toMatchObject({
      status: "error",
      error: expect.stringContaining("next"),
    });
    expect((await service.posted(head, "success")).at(-1)?.description).toBe("No agents changed.");
  });

  it("end with a pull request that is closed, and begin anew when it is opened again", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Hello");
    service.propose(1, head, base);
    await service.consider(1);
    await service.reached(1, "running");
    service.propose(1, head, base, { open: false });
    await service.consider(1);
    const reason = "The pull request was closed.";
    expect(await service.reached(1, "superseded")).toMatchObject({ reason });
    expect((await service.suites())[0]).toMatchObject({ status: "error", error: reason });
    service.runEvals();
    service.propose(1, head, base);
    await service.consider(1);
    await service.reached(1, "success");
    service.propose(1, head, base, { open: false });
    await service.consider(1);
    await service.reached(1, "success");
  });

  it("go on when the pull request is merged, and show on its commit what they came to", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Hello");
    service.propose(1, head, base);
    await service.consider(1);
    await service.reached(1, "running");
    service.propose(1, head, base, { open: false, merged: true });
    await service.consider(1);
    service.runEvals();
    await service.reached(1, "success");
    await service.posted(head, "success");
  });

  it("post nothing when the host shows another head by now", async () => {
    const service = await startPullRequests(database.db);
    const [base, first = "", second = ""] = await commits(service, "Hello", "hello");
    service.propose(1, first, base);
    await service.consider(1);
    await service.reached(1, "running");
    await service.posted(first, "pending");
    // Nobody has delivered this yet.
    service.propose(1, second, base);
    service.runEvals();
    await expect
      .poll(async () => (await service.reached(1, "success")).statusPost)
      .toEqual({ state: "skipped", reason: expect.any(String) });
    expect(service.host.statuses.map(({ state }) => state)).toEqual(["pending"]);
  });

  it("of two pull requests with one commit show on it what is true of both", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Goodbye");
    // Into a branch where the agent is as it is here.
    service.propose(1, head, head, { baseRef: "next" });
    await service.consider(1);
    await service.reached(1, "success");
    await service.posted(head, "success");
    service.propose(2, head, base);
    await service.consider(2);
    await service.reached(2, "running");
    await service.posted(head, "pending");
    service.runEvals();
    await service.reached(2, "failure");
    await service.posted(head, "failure");
    expect((await service.reached(1, "success")).agents).toEqual([]);
    expect(await statesOf(service, `?headSha=${head}`)).toHaveLength(2);
    // Without the second the commit is good.
    const [, other = ""] = await commits(service, "hello");
    service.propose(2, other, base);
    await service.consider(2);
    await service.posted(head, "success");
  });

  it("of merge groups are evaluated against their base, until the group is dissolved", async () => {
    const service = await startPullRequests(database.db);
    const [base, head = ""] = await commits(service, "Hello");
    const branch = "gh-readonly-queue/main/pr-1-abc";
    const group: Subject = {
      ...{ kind: "merge_group", branch, headSha: head, baseSha: base, baseRef: "main", destroyed: false },
    };
    // A delivery that is ahead of the API.
    expect(await service.consider(group)).toBeUndefined();
    expect(await statesOf(service)).toEqual([]);
    service.host.branches.set(branch, head);
    await openConnections(database.db);
    expect(await Promise.all([service.consider(group), service.consider(group)])).toEqual([head, head]);
    await service.posted(head, "pending");
    const { body } = await service.call("GET", `/pull-requests?headSha=${head}`);
    expect(body.pullRequests).toEqual([
      expect.objectContaining({
        number: null,
        mergeBranch: branch,
        baseRef: "main",
        baseSha: base,
        author: "",
      }),
    ]);
    await service.consider({ ...group, destroyed: true });
    expect(await statesOf(service)).toEqual([[head, "superseded"]]);
    expect((await service.suites())[0]?.status).toBe("error");
    // The same group is asked for again.
    await service.consider(group);
    service.runEvals();
    await service.posted(head, "success");
    await service.consider({ ...group, destroyed: true });
    expect(await statesOf(service)).toEqual([[head, "success"]]);
  });
});
