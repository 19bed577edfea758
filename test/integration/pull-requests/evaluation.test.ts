import { describe, expect, it } from "vitest";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentWithEvals } from "../../support/eval-requests.ts";
import { specText } from "../../support/run-requests.ts";
import { startPullRequests } from "./pull-request-service.ts";

/** An agent that echoes, whose one case wants a word in the answer to "Hello". */
const agent = (name: string, word: string, instructions = "You are tested.") =>
  agentWithEvals(name, [{ name: "polite", input: "Hello", assert: { contains: word } }], { instructions });

describe.each(databases())("evals of a pull request on %s", (engine) => {
  const database = useDatabase(engine);

  it("shows that an agent is broken, and then that it is not", async () => {
    const service = await startPullRequests(database.db);
    service.runEvals();
    const base = await service.commit({ ...agent("refunds", "Hello"), ...agent("other", "Hello") });
    const broken = await service.commit({ ...agent("refunds", "Goodbye"), ...agent("other", "Hello") });
    service.propose(1, broken, base);
    expect(await service.consider(1)).toBe(broken);
    const failed = await service.reached(1, "failure");
    expect(failed).toMatchObject({ number: 1, headSha: broken, baseSha: base, author: "ann", fork: false });
    expect(failed.agents).toEqual([
      expect.objectContaining({
        agent: "refunds",
        outcome: "evals",
        status: "failed",
        passedCount: 0,
        totalCount: 1,
      }),
    ]);
    const statuses = await service.posted(broken, "failure");
    expect(statuses.map(({ state }) => state)).toEqual(["pending", "failure"]);
    expect(statuses.at(-1)?.description).toBe("0 of 1 agent passed, 0 of 1 case: refunds failed at 'polite'");
    await expect
      .poll(() => service.host.checkRuns.at(-1)?.report.annotations)
      .toEqual([
        expect.objectContaining({
          path: "agents/ai-sdk/refunds.eval.json",
          line: 3,
          title: "refunds: polite",
        }),
      ]);

    const fixed = await service.commit({ ...agent("refunds", "hello"), ...agent("other", "Hello") });
    service.propose(1, fixed, base);
    await service.consider(1);
    expect(await service.reached(1, "success")).toMatchObject({
      headSha: fixed,
      finishedAt: expect.any(String),
    });
    expect((await service.posted(fixed, "success")).at(-1)?.description).toBe(
      "1 of 1 agent passed, 1 of 1 case",
    );
    const { body } = await service.call("GET", "/pull-requests?number=1");
    expect(body.pullRequests.map(({ state }: { state: string }) => state)).toEqual(["success", "superseded"]);
    const [suite] = (await service.call("GET", "/evals?agent=refunds&latest=true")).body.evals;
    expect(suite).toMatchObject({ source: "pull_request", statusPost: { state: "posted" } });
  });

  it("names file and line of what is not valid, and evaluates the rest", async () => {
    const service = await startPullRequests(database.db);
    service.runEvals();
    const base = await service.commit({});
    const head = await service.commit({
      ...agent("fine", "Hello"),
      "agents/ai-sdk/broken.yaml":
        "name: broken\nframework: ai-sdk\nmodell: offline/echo\ninstructions: Hi\n",
      "agents/ai-sdk/plain.json": specText("plain"),
      "agents/ai-sdk/half.json": specText("half"),
      "agents/ai-sdk/half.eval.yaml": "cases:\n  - name: one\n",
    });
    service.propose(2, head, base);
    await service.consider(2);
    const { agents } = await service.reached(2, "failure");
    expect(agents.map(({ agent: name, outcome, status }) => [name, outcome, status])).toEqual([
      ["broken", "invalid", undefined],
      ["fine", "evals", "passed"],
      ["half", "eval_invalid", undefined],
      ["plain", "no_evals", undefined],
    ]);
    const { description } = (await service.posted(head, "failure")).at(-1) ?? {};
    expect(description).toMatch(
      /^1 of 3 agents passed, 1 of 1 case, 1 without evals: agents\/ai-sdk\/broken.yaml line \d/,
    );
  });

  it("says that no agent changed, and that what changed has no evals", async () => {
    const service = await startPullRequests(database.db);
    const base = await service.commit(agent("refunds", "Hello"));
    const words = await service.commit({ ...agent("refunds", "Hello"), "README.md": "Words" });
    service.propose(1, words, base);
    await service.consider(1);
    expect((await service.reached(1, "success")).agents).toEqual([]);
    expect((await service.posted(words, "success")).map(({ description }) => description)).toEqual([
      "No agents changed.",
    ]);
    const plain = await service.commit({
      ...agent("refunds", "Hello"),
      "agents/ai-sdk/plain.json": specText("plain"),
    });
    service.propose(2, plain, base);
    await service.consider(2);
    await service.reached(2, "success");
    expect((await service.posted(plain, "success")).at(-1)?.description).toBe("1 agent changed; no evals.");
  });

  it("asks to split what changes more than 200 agents", async () => {
    const service = await startPullRequests(database.db);
    const base = await service.commit({});
    const files = Array.from({ length: 201 }, (_, index) => agent(`agent-${index}`, "Hello"));
    const head = await service.commit(Object.assign({}, ...files));
    service.propose(1, head, base);
    await service.consider(1);
    expect(await service.reached(1, "failure")).toMatchObject({
      reason: expect.stringMatching(/201.*split.*200/),
      agents: [],
    });
    expect((await service.posted(head, "failure")).at(-1)?.description).toContain("201 agents");
    expect(await service.suites()).toEqual([]);
  });

  it("settles two pull requests whose many suites end side by side", async () => {
    const service = await startPullRequests(database.db);
    const base = await service.commit({});
    const proposed = async (number: number, failing: number) => {
      const files = Array.from({ length: 25 }, (_, index) =>
        agent(`agent-${index}`, index < failing ? `Goodbye ${number}` : "Hello", `Number ${number}.`),
      );
      const head = await service.commit(Object.assign({}, ...files));
      service.propose(number, head, base);
      await service.consider(number);
      await service.posted(head, "pending");
      return head;
    };
    const [good, bad] = [await proposed(1, 0), await proposed(2, 3)];
    // A third one with a commit that another one has already.
    service.propose(3, bad, base);
    await service.consider(3);
    await service.reached(3, "running");
    service.runEvals();
    await service.reached(1, "success");
    await service.reached(2, "failure");
    await service.reached(3, "failure");
    const last = async (sha: string, state: string) =>
      (await service.posted(sha, state)).map((each) => each.state);
    expect(await last(good, "success")).toEqual(["pending", "success"]);
    // The third one is told of, too; after that nothing changes until the end.
    expect((await last(bad, "failure")).join(" ")).toMatch(/^pending (pending )?failure$/);
    await expect.poll(() => service.jobKinds()).toEqual([]);
    expect(service.host.statuses.at(-1)?.description).toMatch(/^\d+ of 25 agents passed, \d+ of 25 cases/);
  });

  it("takes what passed before for a commit with the same files, also on the base", async () => {
    const service = await startPullRequests(database.db);
    service.runEvals();
    const base = await service.commit({});
    const first = await service.commit(agent("refunds", "Hello"));
    service.propose(1, first, base);
    await service.consider(1);
    await service.reached(1, "success");
    const rebased = await service.commit({ ...agent("refunds", "Hello"), "README.md": "Words" });
    service.propose(1, rebased, base);
    await service.consider(1);
    await service.posted(rebased, "success");
    expect((await service.reached(1, "success")).agents[0]).toMatchObject({ cached: true, status: "passed" });
    expect(await database.db.read("runs")).toHaveLength(1);

    const changed = await service.commit(agent("refunds", "Goodbye"));
    service.propose(2, changed, rebased);
    await service.consider(2);
    const { agents } = await service.reached(2, "failure");
    expect(agents[0]?.base).toMatchObject({ passedCount: 1, totalCount: 1 });
    await service.posted(changed, "failure");
    await expect
      .poll(() => service.host.checkRuns.at(-1)?.report.summary)
      .toContain("| `refunds` | 1/1 | 0/1 |\n\n**`refunds`**\n\n- `polite` failed, **passed on the base**");
  });

  it("follows a suite that somebody queues for the commit, if it has the commit's own files", async () => {
    const service = await startPullRequests(database.db);
    service.runEvals();
    const base = await service.commit({});
    const head = await service.commit(agent("refunds", "Goodbye"));
    service.propose(1, head, base);
    await service.consider(1);
    const failed = await service.reached(1, "failure");
    await service.posted(head, "failure");
    const body = { agent: "refunds", commitSha: head };
    // Texts of somebody's own would pass; they count for nothing.
    const forged = {
      spec: specText("refunds"),
      eval: JSON.stringify({ cases: [{ name: "x", input: "y", assert: { contains: "y" } }] }),
    };
    const fake = await service.call("POST", "/evals", { body: { ...body, ...forged } });
    const passed = await service.call("GET", `/evals/${fake.body.eval_id}?wait=20`);
    expect(passed.body.eval).toMatchObject({ status: "passed", statusPost: { state: "none" } });
    const again = await service.call("POST", "/evals", { body });
    expect(again.status).toBe(202);
    const ended = await service.call("GET", `/evals/${again.body.eval_id}?wait=20`);
    expect(ended.body.eval.status).toBe("failed");
    await expect
      .poll(async () => (await service.reached(1, "failure")).agents[0]?.evalId)
      .toBe(again.body.eval_id);
    expect(failed.agents[0]?.evalId).not.toBe(again.body.eval_id);
    expect((await service.posted(head, "failure")).map(({ state }) => state)).toEqual(["pending", "failure"]);
  });

  it("runs with the connections of the author, of the evals' owner, or of nobody", async () => {
    const service = await startPullRequests(database.db);
    await service.addMember("Ann", "operator");
    await service.addMember("vic", "viewer");
    await service.addMember("olga", "operator");
    const base = await service.commit({});
    const runAs = async (number: number, author: string, authorBelongs = true) => {
      service.propose(number, await service.commit(agent("refunds", `word ${number}`)), base, {
        author,
        authorBelongs,
      });
      await service.consider(number);
      return (await service.reached(number, "running")).runAs;
    };
    expect(await runAs(1, "ann")).toBe("Ann");
    expect(await runAs(2, "ann", false)).toBeNull();
    expect(await runAs(3, "vic")).toBeNull();
    await service.changeSettings({ evalOwner: "OLGA" });
    expect(await runAs(4, "ann", false)).toBe("olga");
    expect(await runAs(5, "stranger")).toBe("olga");
    await service.changeSettings({ evalOwner: "vic" });
    expect(await runAs(6, "")).toBeNull();
    expect((await service.suites()).map(({ run_as }) => run_as)).toEqual(["Ann", "", "", "olga", "olga", ""]);
  });
});
