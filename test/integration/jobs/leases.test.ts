import { describe, expect, it, vi } from "vitest";
import { type Job, LeaseLost } from "../../../src/platform/jobs/index.ts";
import { claimJobs, dueJobs } from "../../../src/platform/jobs/store.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { createTestWorker, enqueue, gate, kindOf } from "../../support/job-worker.ts";

describe.each(databases())("leases on %s", (engine) => {
  const database = useDatabase(engine);
  const jobs = () => database.db.read("jobs").orderBy("id");
  const expireLeases = () =>
    database.db.transaction((tx) => tx("jobs").whereNotNull("lease_until").update({ lease_until: 1 }));

  it("gives an expired job to another worker and refuses what the first one does then", async () => {
    const { db } = database;
    const first = createTestWorker(db);
    const begun = gate<Job<number>>();
    const mayEnd = gate();
    first.worker.define(
      kindOf(async (job) => {
        begun.resolve(job);
        await mayEnd.promise;
        await db.transaction(async (tx) => {
          await tx("workspaces").insert({ id: "wsp_stale", slug: "stale", created_at: 1 });
          await job.complete(tx);
        });
      }),
    );
    first.worker.start();
    await enqueue(db, first, [1]);
    const stale = await begun.promise;
    await expireLeases();

    const second = createTestWorker(db, { sweepMs: 20 });
    second.worker.define(kindOf(async () => {}));
    second.worker.start();
    await second.reached("done", 1);
    await expect(db.transaction((tx) => stale.hold(tx))).rejects.toThrow(LeaseLost);
    mayEnd.resolve();
    await first.reached("lost", 1);
    expect(await db.read("workspaces")).toEqual([]);
    expect(await jobs()).toEqual([]);
  });

  it("refuses a stale worker even when the revived job has come to the same attempt again", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    const begun: Job<number>[] = [];
    const ends = [gate(), gate()];
    test.worker.define(
      kindOf(async (job) => {
        begun.push(job);
        await ends[begun.length - 1]?.promise;
      }),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    await vi.waitFor(() => expect(begun).toHaveLength(1));
    const [row] = await jobs();
    await db.transaction((tx) => tx("jobs").update({ state: "dead", claim: null, lease_until: null }));
    await db.transaction((tx) => test.queue.retryDead(tx, row?.id ?? ""));
    await vi.waitFor(() => expect(begun).toHaveLength(2));
    const [stale, current] = begun;
    expect([stale?.attempt, current?.attempt]).toEqual([1, 1]);
    expect(stale?.signal.aborted).toBe(true);
    expect(current?.signal.aborted).toBe(false);
    await expect(db.transaction(async (tx) => stale?.complete(tx))).rejects.toThrow(LeaseLost);
    for (const end of ends) end.resolve();
    await test.reached("done", 1);
    await test.reached("lost", 1);
    expect(await jobs()).toEqual([]);
  });

  it("keeps a job for longer than a lease by renewing it", async () => {
    const { db } = database;
    const test = createTestWorker(db, { leaseMs: 400, renewMs: 40 });
    const begun = gate();
    const mayEnd = gate();
    test.worker.define(
      kindOf(async () => {
        begun.resolve();
        await mayEnd.promise;
      }),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    await begun.promise;
    const rival = createTestWorker(db, { leaseMs: 400, sweepMs: 20, pollMs: 20 });
    rival.worker.define(kindOf(async () => {}));
    rival.worker.start();
    const [{ lease_until: firstLease }] = await jobs();
    // Ended when the database's own clock is two leases further.
    await vi.waitFor(
      async () => expect((await jobs())[0]?.lease_until).toBeGreaterThan(firstLease + 800),
      10_000,
    );
    mayEnd.resolve();
    await test.reached("done", 1);
    expect(rival.outcomes).toEqual([]);
    expect(await jobs()).toEqual([]);
  });

  it("aborts what it does when its lease is another's", async () => {
    const { db } = database;
    const test = createTestWorker(db, { renewMs: 20 });
    const aborted = gate<unknown>();
    test.worker.define(
      kindOf(
        (job) =>
          new Promise((_resolve, reject) =>
            job.signal.addEventListener("abort", () => {
              aborted.resolve(job.signal.reason);
              reject(job.signal.reason);
            }),
          ),
      ),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    await vi.waitFor(async () => expect(await jobs()).toMatchObject([{ state: "running" }]));
    await db.transaction((tx) => tx("jobs").update({ claim: "clm_other", attempt: 2 }));
    expect(await aborted.promise).toBeInstanceOf(LeaseLost);
    await test.reached("lost", 1);
    expect(await jobs()).toMatchObject([{ state: "running", claim: "clm_other", attempt: 2 }]);
  });

  it("aborts what it does when it could not renew for too long", async () => {
    const { db } = database;
    const test = createTestWorker(db, { abandonMs: 40 });
    const reason = gate<unknown>();
    test.worker.define(
      kindOf(
        (job) =>
          new Promise((resolve) =>
            job.signal.addEventListener("abort", () => {
              reason.resolve(job.signal.reason);
              resolve();
            }),
          ),
      ),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    expect(await reason.promise).toMatchObject({ message: "The job's lease could not be renewed." });
  });

  it("one job that cannot be put back does not keep those behind it", async () => {
    const { db } = database;
    const test = createTestWorker(db, { sweepMs: 20 });
    const done: number[] = [];
    test.worker.define(
      kindOf(async (job) => void done.push(job.payload), {
        onDead: async () => {
          throw new Error("never");
        },
      }),
    );
    const held = { state: "running", claim: "clm_gone", lease_until: 1 };
    const { row: stuck } = test.queue.row({ kind: "count", payload: 1 });
    const { row: fine } = test.queue.row({ kind: "count", payload: 2 });
    await db.transaction((tx) =>
      tx("jobs").insert([
        { ...stuck, ...held, attempt: 3 },
        { ...fine, ...held, attempt: 1, lease_until: 2 },
      ]),
    );
    test.worker.start();
    await test.reached("done", 1);
    expect(done).toEqual([2]);
  });

  it("a claim leaves out a candidate that was tried since it was read", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    await enqueue(db, test, [1, 2]);
    const candidates = await dueJobs(db, "count", 10);
    await db.transaction((tx) => tx("jobs").where({ payload: "1" }).update({ attempt: 1 }));
    const taken = await db.transaction((tx) => claimJobs(db, tx, candidates, "clm_1", 1_000));
    expect(taken).toMatchObject([{ payload: "2", attempt: 1, claim: "clm_1" }]);
    expect(await jobs()).toMatchObject([
      { payload: "1", state: "queued", attempt: 1 },
      { payload: "2", state: "running", attempt: 1 },
    ]);
  });
});
