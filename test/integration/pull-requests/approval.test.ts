import { describe, expect, it } from "vitest";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentWithEvals } from "../../support/eval-requests.ts";
import { openConnections } from "../../support/workspace.ts";
import { startPullRequests } from "./pull-request-service.ts";

const agent = (word: string) => agentWithEvals("refunds", [{ input: "Hello", assert: { contains: word } }]);

describe.each(databases())("commits from a fork on %s", (engine) => {
  const database = useDatabase(engine);

  async function startFork() {
    const service = await startPullRequests(database.db);
    const base = await service.commit({});
    const head = await service.commit(agent("Hello"));
    const fork = { fork: true, author: "stranger", authorBelongs: false };
    service.propose(3, head, base, fork);
    await service.consider(3);
    const approve = (headSha: unknown, key?: string, number: unknown = 3) =>
      service.call("POST", `/pull-requests/${number}/approve`, {
        body: { headSha },
        ...(key === undefined ? {} : { key }),
      });
    return { ...service, base, head, fork, approve };
  }

  it("run nothing until an operator has approved them", async () => {
    const { head, approve, ...service } = await startFork();
    service.runEvals();
    const [status] = await service.posted(head, "pending");
    expect(status?.description).toBe("Waiting for an operator to approve this commit.");
    expect((await service.reached(3, "awaiting_approval")).fork).toBe(true);
    await service.consider(3);
    expect(await service.jobKinds()).not.toContain("pull_request.plan");
    expect(await service.suites()).toEqual([]);

    expect((await approve(head, await service.addMember("vera", "viewer"))).status).toBe(403);
    const key = await service.addMember("olga", "operator");
    const { status: code, body } = await approve(head, key);
    expect([code, body.pullRequest]).toEqual([
      200,
      expect.objectContaining({ state: "planning", approvedBy: "olga", headSha: head, agents: [] }),
    ]);
    expect(await service.reached(3, "success")).toMatchObject({ approvedBy: "olga", runAs: null });
    await service.posted(head, "success");
    const again = await approve(head);
    expect([again.status, again.body.pullRequest]).toEqual([
      200,
      expect.objectContaining({
        approvedBy: "olga",
        agents: [expect.objectContaining({ status: "passed" })],
      }),
    ]);
    const audited = await database.db.read("audit_log").where({ action: "approvePullRequest" }).orderBy("id");
    expect(audited.map(({ actor, target, details }) => [actor, target, JSON.parse(details)])).toEqual([
      ["olga", "3", { headSha: head }],
      ["admin", "3", { headSha: head }],
    ]);
  });

  it("are approved one by one: a push needs another approval, going back needs none", async () => {
    const { head, base, fork, approve, ...service } = await startFork();
    await approve(head);
    await service.reached(3, "running");
    const second = await service.commit(agent("hello"));
    service.propose(3, second, base, fork);
    await service.consider(3);
    await service.reached(3, "awaiting_approval");
    expect((await approve(head)).status).toBe(409);
    service.propose(3, head, base, fork);
    await service.consider(3);
    expect(await service.reached(3, "running")).toMatchObject({ headSha: head });
    expect((await approve(second)).status).toBe(409);
  });

  it("are not approved by mistake", async () => {
    const { head, base, approve, ...service } = await startFork();
    expect((await approve(head, undefined, 4)).status).toBe(404);
    expect((await approve(head, undefined, "nobody-has-this")).status).toBe(404);
    expect((await approve("1".repeat(40))).status).toBe(409);
    expect((await approve(head.slice(0, 7))).status).toBe(400);
    const own = await service.commit(agent("hello"));
    service.propose(5, own, base);
    await service.consider(5);
    const refused = await approve(own, undefined, 5);
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining("does not wait")]);
  });

  it("are approved once by several at the same time, and not after a push that came first", async () => {
    const { head, base, fork, approve, ...service } = await startFork();
    await openConnections(database.db);
    const answers = await Promise.all(Array.from({ length: 4 }, () => approve(head)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await service.reached(3, "running");
    expect(await service.suites()).toHaveLength(1);

    const second = await service.commit(agent("hello"));
    service.propose(3, second, base, fork);
    await service.consider(3);
    const third = await service.commit(agent("Hell"));
    service.propose(3, third, base, fork);
    const [, { status }] = await Promise.all([service.consider(3), approve(second)]);
    expect([200, 409]).toContain(status);
    await service.reached(3, "awaiting_approval");
    await expect.poll(() => service.jobKinds()).not.toContain("pull_request.plan");
    const { body } = await service.call("GET", "/pull-requests?number=3");
    expect(body.pullRequests.map(({ headSha, state }: Record<string, string>) => [headSha, state])).toEqual([
      [third, "awaiting_approval"],
      [second, "superseded"],
      [head, "superseded"],
    ]);
    const open = (await service.suites()).filter((suite) => suite.status !== "error");
    expect(open).toEqual([]);
  });
});
