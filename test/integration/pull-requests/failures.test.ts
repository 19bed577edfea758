import { describe, expect, it } from "vitest";
import { RepositoryUnavailable } from "../../../src/repositories/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { agentWithEvals } from "../../support/eval-requests.ts";
import { startPullRequests } from "./pull-request-service.ts";

const agent = (word: string) => agentWithEvals("refunds", [{ input: "Hello", assert: { contains: word } }]);
const away = (reason: RepositoryUnavailable["reason"], retryAt?: number) =>
  new RepositoryUnavailable("GitHub cannot be asked now.", reason, retryAt);

describe.each(databases())("heads that cannot be planned on %s", (engine) => {
  const database = useDatabase(engine);

  async function startOne() {
    const service = await startPullRequests(database.db);
    const base = await service.commit({});
    const head = await service.commit(agent("Hello"));
    service.propose(1, head, base);
    return { ...service, base, head };
  }

  /** Has the next tries done at once until the head is in that state. */
  async function hurryTo(service: Awaited<ReturnType<typeof startOne>>, state: "error" | "running") {
    await expect
      .poll(
        async () => {
          await service.hurry();
          return (await service.call("GET", "/pull-requests/1")).body.pullRequest.state;
        },
        { timeout: 15_000, interval: 10 },
      )
      .toBe(state);
  }

  it("wait until the host can be asked again", async () => {
    const service = await startOne();
    let asked = 0;
    service.host.onAsk = (what) => {
      if (what === "mergeBase" && ++asked <= 8) throw away("unreachable");
    };
    await service.consider(1);
    await hurryTo(service, "running");
    expect(asked).toBe(9);
  });

  it("wait for the time that the host names", async () => {
    const service = await startOne();
    const retryAt = Date.now() + 1_800_000;
    const asked = Promise.withResolvers<void>();
    service.host.onAsk = (what) => {
      if (what !== "mergeBase") return;
      asked.resolve();
      throw away("rate_limited", retryAt);
    };
    await service.consider(1);
    await asked.promise;
    await expect
      .poll(async () => (await database.db.read("jobs").where({ kind: "pull_request.plan" }).first())?.run_at)
      .toBeGreaterThan(retryAt - 60_000);
  });

  it("end as an error when that lasts, and are taken up by the next delivery", async () => {
    const service = await startOne();
    let asked = 0;
    service.host.onAsk = (what) => {
      if (what !== "mergeBase") return;
      asked += 1;
      throw away("unreachable");
    };
    await service.consider(1);
    await hurryTo(service, "error");
    expect(asked).toBe(22);
    expect(await service.reached(1, "error")).toMatchObject({
      reason: "GitHub cannot be asked now.",
      agents: [],
    });
    expect((await service.posted(service.head, "error")).at(-1)?.description).toBe(
      "GitHub cannot be asked now.",
    );
    service.host.onAsk = () => {};
    await service.consider(1);
    expect(await service.reached(1, "running")).not.toHaveProperty("reason");
    await service.posted(service.head, "pending");
  });

  it.each([
    ["a commit that the repository lacks", "9".repeat(40)],
    ["a base that it lacks", undefined],
  ])("end soon as an error: %s", async (_what, headSha) => {
    const service = await startOne();
    service.propose(1, headSha ?? service.head, "8".repeat(40));
    let asked = 0;
    service.host.onAsk = (what) => {
      if (what === "mergeBase") asked += 1;
    };
    await service.consider(1);
    await hurryTo(service, "error");
    expect(asked).toBe(10);
    expect(await service.reached(1, "error")).toMatchObject({ reason: expect.stringContaining("lacks") });
  });

  it("end as an error when the host knows no commit that both branches have", async () => {
    const service = await startOne();
    service.host.mergeBase = async () => undefined;
    await service.consider(1);
    await hurryTo(service, "error");
    expect(await service.reached(1, "error")).toMatchObject({ reason: expect.stringContaining("in common") });
  });

  it("are asked about again by whoever delivered them", async () => {
    const service = await startOne();
    service.host.onAsk = () => {
      throw away("unreachable");
    };
    await expect(service.consider(1)).rejects.toThrow(RepositoryUnavailable);
    expect((await service.call("GET", "/pull-requests/1")).status).toBe(404);
  });

  it("get another job when theirs is lost", async () => {
    const long = Date.now() - 600_000;
    const service = await startOne();
    const asked = Promise.withResolvers<void>();
    service.host.onAsk = (what) => {
      if (what !== "mergeBase") return;
      asked.resolve();
      throw away("unreachable");
    };
    await service.consider(1);
    await asked.promise;
    await expect.poll(() => database.db.read("jobs").where({ state: "running" })).toEqual([]);
    service.host.onAsk = () => {};
    await database.db.transaction(async (tx) => {
      await tx("jobs").delete();
      await tx("pull_request_heads").update({ updated_at: long });
    });
    await service.sweep();
    await service.sweep();
    await service.reached(1, "running");
    expect(await service.suites()).toHaveLength(1);

    // A suite ended, and nobody heard of it.
    await expect.poll(() => service.jobKinds()).not.toContain("pull_request.settle");
    await database.db.transaction(async (tx) => {
      await tx("eval_suites").update({ status: "passed", passed_count: 1, finished_at: Date.now() });
      await tx("pull_request_heads").update({ updated_at: long });
    });
    await service.sweep();
    await service.reached(1, "success");
    await service.posted(service.head, "success");
  });
});
