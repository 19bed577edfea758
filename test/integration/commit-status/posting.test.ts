import { describe, expect, it } from "vitest";
import type { StatusPost } from "../../../src/commit-status/index.ts";
import { RepositoryUnavailable } from "../../../src/repositories/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { openConnections } from "../../support/workspace.ts";
import {
  createMemoryHost,
  passed,
  type Service,
  someSha,
  startService,
  wanted,
} from "./commit-status-service.ts";

const away = (retryAt?: number) =>
  new RepositoryUnavailable("GitHub could not be reached.", "unreachable", retryAt);
const hour = 3_600_000;

describe.each(databases())("the status of a commit on %s", (engine) => {
  const database = useDatabase(engine);
  const rows = () => database.db.read("commit_statuses");
  const jobs = () => database.db.read("jobs");
  const change = (columns: Readonly<Record<string, unknown>>) =>
    database.db.transaction((tx) => tx("commit_statuses").update(columns));
  async function start(deps: Partial<Parameters<typeof startService>[1]> = {}) {
    const host = createMemoryHost();
    return { host, service: await startService(database.db, { host, ...deps }) };
  }
  const states = ({ statuses }: { statuses: { state: string }[] }) => statuses.map(({ state }) => state);
  const ended = async (service: Service, post: StatusPost) => {
    expect(await jobs()).toEqual([]);
    expect(await service.post()).toEqual(post);
    expect((await rows())[0].sweep_at).toBeNull();
  };

  it("is posted once while evals run and once when they are over, with one check run", async () => {
    const { host, service } = await start();
    expect(await service.post()).toBeUndefined();
    await service.want(wanted());
    await service.reached("done", 1);
    await ended(service, { state: "posted" });
    const report = {
      title: "1 of 1",
      summary: "All.",
      annotations: [{ path: "a", line: 1, message: "m", title: "t" }],
    };
    await service.want(passed({ report }));
    await service.reached("done", 2);
    expect(states(host)).toEqual(["pending", "success"]);
    expect(host.statuses[1]).toMatchObject({ sha: someSha, targetUrl: expect.stringContaining(someSha) });
    expect(host.checkRuns.map(({ id, state }) => [id, state])).toEqual([
      [undefined, "pending"],
      [1, "success"],
    ]);
    expect(host.checkRuns[1]?.report).toEqual(report);
    // Once it is over, what comes next is another check run.
    await service.want(wanted());
    await service.reached("done", 3);
    expect(host.checkRuns[2]?.id).toBeUndefined();
    const others = await service.statuses.posts(service.workspaceId, [someSha, "b".repeat(40)]);
    expect([...others.keys()]).toEqual([someSha]);
    expect(await service.statuses.posts("wsp_other", [someSha])).toEqual(new Map());
  });

  it("is not posted again by a wish that changes nothing, whatever order its fields come in", async () => {
    const { host, service } = await start();
    await service.want(wanted());
    await service.reached("done", 1);
    const { annotations, summary, title } = wanted().report;
    await service.want(wanted({ report: { annotations, summary, title } }));
    expect(await jobs()).toEqual([]);
    await service.want(wanted({ report: { ...wanted().report, summary: "Another." } }));
    await service.reached("done", 2);
    expect(host.statuses).toHaveLength(2);
    expect((await rows())[0]).toMatchObject({ revision: 2, post_state: "posted" });
  });

  it("is wished for in the caller's transaction: rolled back with it, nothing is posted", async () => {
    const { service } = await start();
    const { statuses, workspaceId } = service;
    const failing = database.db.transaction(async (tx) => {
      await statuses.want(tx, workspaceId, wanted());
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect([await rows(), await jobs()]).toEqual([[], []]);
  });

  it("stays one row when two wish for it for the first time at the same moment", async () => {
    const { host, service } = await start();
    await openConnections(database.db);
    const descriptions = Array.from({ length: 8 }, (_, n) => `${n} of 8`);
    await Promise.all(descriptions.map((description) => service.want(wanted({ description }))));
    await expect.poll(jobs, { timeout: 15_000 }).toEqual([]);
    expect(await rows()).toHaveLength(1);
    const [row] = await rows();
    expect(row).toMatchObject({ revision: 8, post_state: "posted" });
    expect(host.statuses.at(-1)?.description).toBe(row.description);
  });

  it("is the newest one also when that was wished for while an older was being posted", async () => {
    const { host, service } = await start();
    host.onStatus = async ({ state }) => {
      if (state === "pending") await service.want(passed());
    };
    await service.want(wanted());
    await service.reached("done", 1);
    expect(states(host)).toEqual(["pending", "success"]);
    // The older one's check run was not worth a call any more.
    expect(host.checkRuns.map(({ state }) => state)).toEqual(["success"]);
    await ended(service, { state: "posted" });
  });

  it("is not lost when it is wished for in the very moment in which the job completes", async () => {
    const { host, service } = await start();
    const { statuses, workspaceId } = service;
    let wish: Promise<void> | undefined;
    host.onCheckRun = async () => {
      if (wish) return;
      // The wish holds the row, and the handler has to wait for it with the transaction that completes its job.
      const asked = Promise.withResolvers<void>();
      wish = database.db.transaction(async (tx) => {
        await statuses.want(tx, workspaceId, passed());
        asked.resolve();
        await new Promise((resolve) => setTimeout(resolve, 100));
      });
      await asked.promise;
    };
    await service.want(wanted());
    await service.reached("done", 1);
    await wish;
    await expect.poll(jobs, { timeout: 15_000 }).toEqual([]);
    expect(states(host)).toEqual(["pending", "success"]);
    expect(host.checkRuns.map(({ id, state }) => [id, state])).toEqual([
      [undefined, "pending"],
      [1, "success"],
    ]);
    await ended(service, { state: "posted" });
  });

  it.each([
    [
      "posting is switched off",
      "postStatus",
      { settings: { evals: async () => ({ postStatus: false }) as never } },
    ],
    ["the head has moved on", "moved on", { isHead: async () => false }],
    ["there is no host", "no place", { host: undefined }],
  ])(
    "is skipped without a call when %s, and tried when it is wished for again",
    async (_when, said, deps) => {
      const { host, service } = await start(deps);
      await service.want(wanted());
      await service.reached("done", 1);
      await ended(service, { state: "skipped", reason: expect.stringContaining(said) });
      expect([host.statuses, host.checkRuns]).toEqual([[], []]);
      await service.want(wanted());
      await service.reached("done", 2);
      expect((await rows())[0].revision).toBe(2);
      expect(service.lines).toEqual([]);
    },
  );

  it("waits with the host's reason while that is away, and is posted by the next try", async () => {
    const { host, service } = await start();
    host.onStatus = () => {
      throw away();
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    expect(await service.post()).toEqual({ state: "pending", reason: "GitHub could not be reached." });
    host.onStatus = () => {};
    await service.hurry();
    await service.reached("done", 1);
    await ended(service, { state: "posted" });
    expect(states(host)).toEqual(["pending"]);
  });

  it.each([
    [10 * 60_000, 10 * 60_000],
    [24 * hour, 65 * 60_000],
  ])("waits as long as the host names, within bounds: %i ms is %i ms", async (named, waited) => {
    const { host, service } = await start();
    const before = Date.now();
    host.onStatus = () => {
      throw away(before + named);
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    const [{ run_at }] = await jobs();
    expect(run_at).toBeGreaterThan(before + waited - 5_000);
    expect(run_at).toBeLessThan(Date.now() + waited + 5_000);
  });

  it("is posted once though its check run takes several tries", async () => {
    const { host, service } = await start();
    host.onCheckRun = () => {
      throw away();
    };
    await service.want(passed());
    await service.reached("retried", 1);
    expect(await service.post()).toEqual({ state: "posted" });
    await service.hurry();
    await service.reached("retried", 2);
    host.onCheckRun = () => {};
    await service.hurry();
    await service.reached("done", 1);
    expect([host.statuses.length, host.checkRuns.length]).toEqual([1, 1]);
    expect((await rows())[0]).toMatchObject({ tries: 2 });
    await ended(service, { state: "posted" });
  });

  it("is given up after forty tries, without a dead job; the sweeper leaves it alone, another wish does not", async () => {
    const late = () => Date.now() + hour;
    const { host, service } = await start({ clock: late });
    host.onStatus = () => {
      throw away();
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    await change({ tries: 39 });
    await service.hurry();
    await service.reached("done", 1);
    await ended(service, { state: "failed", reason: "GitHub could not be reached." });
    await service.statuses.sweep();
    expect(await jobs()).toEqual([]);
    host.onStatus = () => {};
    await service.want(wanted());
    await service.reached("done", 2);
    expect((await rows())[0]).toMatchObject({ tries: 0 });
    await ended(service, { state: "posted" });
  });

  it("has tries of its own, however many the one before has used up", async () => {
    const { host, service } = await start();
    host.onStatus = () => {
      throw away();
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    await change({ tries: 39 });
    await service.want(passed());
    await service.hurry();
    await service.reached("retried", 2);
    expect((await rows())[0]).toMatchObject({ tries: 1, post_state: "pending" });
  });

  it("stays posted when its check run is given up", async () => {
    const { host, service } = await start();
    host.onCheckRun = () => {
      throw away();
    };
    await service.want(passed());
    await service.reached("retried", 1);
    await change({ tries: 39 });
    await service.hurry();
    await service.reached("done", 1);
    await ended(service, { state: "posted" });
  });

  it("is failed when its job dies with its workers", async () => {
    const { host, service } = await start();
    host.onStatus = () => {
      throw away();
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    const [{ id }] = await rows();
    await database.db.transaction(async (tx) =>
      service.statuses.job.onDead?.(tx, { id }, "The worker stopped."),
    );
    expect(await service.post()).toEqual({ state: "failed", reason: "The worker stopped." });
  });

  it("gets another job when it has lost its own, not before two minutes have passed", async () => {
    let now = Date.now();
    const { host, service } = await start({ clock: () => now });
    let calls = 0;
    host.onStatus = () => {
      calls += 1;
      if (calls === 1) throw away();
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    await database.db.transaction((tx) => tx("jobs").delete());
    now += 119_000;
    await service.statuses.sweep();
    expect(await jobs()).toEqual([]);
    now += 2_000;
    await service.statuses.sweep();
    await service.reached("done", 1);
    await ended(service, { state: "posted" });
    now += hour;
    await service.statuses.sweep();
    expect([calls, await jobs()]).toEqual([2, []]);
  });

  it("keeps the job that it has, and its next try's time, when it is swept", async () => {
    const { host, service } = await start({ clock: () => Date.now() + hour });
    host.onStatus = () => {
      throw away(Date.now() + 2 * hour);
    };
    await service.want(wanted());
    await service.reached("retried", 1);
    const before = await jobs();
    await change({ sweep_at: 1 });
    await service.statuses.sweep();
    expect(await jobs()).toEqual(before);
    expect((await rows())[0].sweep_at).toBeGreaterThan(Date.now());
  });
});
