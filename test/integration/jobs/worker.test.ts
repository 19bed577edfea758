import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Database } from "../../../src/platform/db/index.ts";
import { type Job, type JobKind, LeaseLost, RetryLater } from "../../../src/platform/jobs/index.ts";
import { claimJobs, dueJobs } from "../../../src/platform/jobs/store.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { createTestWorker, gate, type TestWorker } from "../../support/job-worker.ts";

const anyNumber = z.number();
type NumberKind = JobKind<typeof anyNumber>;

const kindOf = (handle: NumberKind["handle"], settings: Partial<NumberKind> = {}): NumberKind => ({
  kind: "count",
  payload: anyNumber,
  concurrency: 5,
  maxAttempts: 3,
  backoff: { base: 0, cap: 0 },
  handle,
  ...settings,
});

const enqueue = (db: Database, { queue }: TestWorker, payloads: readonly unknown[], kind = "count") =>
  db.transaction(async (tx) => {
    for (const payload of payloads) await queue.enqueue(tx, { kind, payload });
  });

describe.each(databases())("worker on %s", (engine) => {
  const database = useDatabase(engine);
  const jobs = () => database.db.read("jobs").orderBy("id");
  const expireLeases = () =>
    database.db.transaction((tx) => tx("jobs").whereNotNull("lease_until").update({ lease_until: 1 }));

  it("does jobs oldest first as soon as they are committed, without waiting for a poll", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    const done: number[] = [];
    test.worker.define(kindOf(async (job) => void done.push(job.payload), { concurrency: 1 }));
    test.worker.start();
    await enqueue(db, test, [1, 2, 3, 4, 5]);
    await test.reached("done", 5);
    expect(done).toEqual([1, 2, 3, 4, 5]);
    expect(await jobs()).toEqual([]);
  });

  it("never does more of a kind at a time than its limit, and that many when there is work", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    let running = 0;
    let most = 0;
    const full = gate();
    test.worker.define(
      kindOf(
        async () => {
          running++;
          most = Math.max(most, running);
          if (running === 7) full.resolve();
          await full.promise;
          await db.read.raw("SELECT 1");
          running--;
        },
        { concurrency: 7 },
      ),
    );
    await enqueue(
      db,
      test,
      Array.from({ length: 60 }, (_, n) => n),
    );
    test.worker.start();
    await test.reached("done", 60);
    expect(most).toBe(7);
  });

  it("completes in the handler's transaction: what it stored and the end of the job are one", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    let failed = false;
    test.worker.define(
      kindOf((job) =>
        db.transaction(async (tx) => {
          await tx("workspaces").insert({
            id: `wsp_${job.attempt}`,
            slug: `try-${job.attempt}`,
            created_at: 1,
          });
          await job.complete(tx);
          if (!failed) {
            failed = true;
            throw new Error("after complete");
          }
        }),
      ),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    await test.reached("retried", 1);
    expect(await db.read("workspaces")).toEqual([]);
    test.queue.wake("count");
    await test.reached("done", 1);
    expect((await db.read("workspaces")).map((row) => row.slug)).toEqual(["try-2"]);
    expect(await jobs()).toEqual([]);
  });

  it("leaves alone what is not due and what no kind is defined for", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    test.worker.define(kindOf(async () => {}));
    test.worker.start();
    await db.transaction(async (tx) => {
      await test.queue.enqueue(tx, { kind: "count", payload: 1, delayMs: 3_600_000 });
      await test.queue.enqueue(tx, { kind: "unheard-of", payload: 2 });
      await test.queue.enqueue(tx, { kind: "count", payload: 3 });
    });
    await test.reached("done", 1);
    await expireLeases();
    expect(await jobs()).toMatchObject([
      { payload: "1", state: "queued", attempt: 0 },
      { payload: "2", state: "queued", attempt: 0 },
    ]);
    await db.transaction((tx) => tx("jobs").where({ kind: "count" }).update({ run_at: 1 }));
    test.queue.wake("count");
    await test.reached("done", 2);
    expect(await jobs()).toMatchObject([{ kind: "unheard-of" }]);
  });

  it("tries again no earlier than the handler asks for", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    test.worker.define(
      kindOf(async () => {
        throw new RetryLater("busy", 600_000);
      }),
    );
    test.worker.start();
    await enqueue(db, test, [1]);
    await test.reached("retried", 1);
    const [job] = await db.read("jobs").select("*", db.read.raw(`run_at - ${db.nowSql} as wait`));
    expect(job).toMatchObject({ state: "queued", attempt: 1, error: "busy", claim: null, lease_until: null });
    expect(Number(job?.wait)).toBeGreaterThan(590_000);
    expect(Number(job?.wait)).toBeLessThanOrEqual(600_000);
  });

  it("keeps a job that failed as often as it may, and tells its feature in the same transaction", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    const attempts: number[] = [];
    let told = 0;
    test.worker.define(
      kindOf(
        async (job) => {
          attempts.push(job.attempt);
          throw new Error(`no ${job.attempt}`);
        },
        {
          async onDead(tx, payload, error) {
            told++;
            await tx("workspaces").insert({ id: `wsp_${told}`, slug: `${payload} ${error}`, created_at: 1 });
            if (told === 1) throw new Error("the first telling fails");
          },
        },
      ),
    );
    test.worker.start();
    await enqueue(db, test, [7]);
    for (const count of [1, 2]) {
      await test.reached("retried", count);
      test.queue.wake("count");
    }
    await test.reached("lost", 1);
    expect(await db.read("workspaces")).toEqual([]);
    expect(await jobs()).toMatchObject([{ state: "running", attempt: 3 }]);

    await expireLeases();
    const second = createTestWorker(db, { sweepMs: 20 });
    second.worker.define(
      kindOf(async () => {}, {
        onDead: async (tx, _payload, error) =>
          void (await tx("workspaces").insert({ id: "wsp_9", slug: error, created_at: 1 })),
      }),
    );
    second.worker.start();
    await vi.waitFor(async () => expect(await jobs()).toMatchObject([{ state: "dead", attempt: 3 }]), 5_000);
    expect((await db.read("workspaces")).map((row) => row.slug)).toEqual([
      "The worker that had the job stopped.",
    ]);
    expect(attempts).toEqual([1, 2, 3]);
  });

  it.each([
    ["a payload of another shape", '"text"'],
    ["a payload that is no JSON", "{"],
  ])("%s ends dead after its tries and holds nobody up", async (_what, payload) => {
    const { db } = database;
    const test = createTestWorker(db, { sweepMs: 20, pollMs: 20 });
    let handled = 0;
    test.worker.define(kindOf(async () => void handled++));
    const { row } = test.queue.row({ kind: "count", payload: 1 });
    await db.transaction((tx) => tx("jobs").insert({ ...row, payload }));
    await enqueue(db, test, [1]);
    test.worker.start();
    await test.reached("dead", 1);
    await test.reached("done", 1);
    expect(handled).toBe(1);
    expect(test.outcomes.filter((each) => each === "retried")).toHaveLength(2);
    expect(await jobs()).toMatchObject([{ state: "dead", attempt: 3, payload }]);
  });

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

  it("stop() waits for what runs, aborts what takes too long and puts it back", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    const begun = [gate(), gate(), gate()];
    const mayEnd = gate();
    test.worker.define(
      kindOf(async (job) => {
        begun[job.payload]?.resolve();
        if (job.payload === 0) await mayEnd.promise;
        // Heeds its signal.
        if (job.payload === 1)
          await new Promise((_, reject) =>
            job.signal.addEventListener("abort", () => reject(job.signal.reason)),
          );
        // Does not.
        if (job.payload === 2) await new Promise(() => {});
      }),
    );
    test.worker.start();
    await enqueue(db, test, [0, 1, 2]);
    await Promise.all(begun.map((each) => each.promise));
    const stopped = test.worker.stop(300);
    mayEnd.resolve();
    await enqueue(db, test, [3]);
    await stopped;
    expect(await jobs()).toMatchObject([
      { payload: "1", state: "queued", claim: null, error: null },
      { payload: "2", state: "queued", claim: null, error: null },
      { payload: "3", state: "queued", attempt: 0 },
    ]);
    expect(test.outcomes).toEqual(["done", "retried"]);
  });

  it("stop() puts back what a claim brings in that was under way", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    let handled = 0;
    test.worker.define(kindOf(async () => void handled++));
    await enqueue(db, test, [1, 2]);
    // The claim shares this unit's transaction and cannot be committed before it.
    const mayCommit = gate();
    const claiming = gate();
    const listener = ({ sql }: { sql: string }) =>
      sql.startsWith("select") && sql.includes("jobs") && claiming.resolve();
    db.read.on("query", listener);
    const blocker = db.commit({ run: () => mayCommit.promise });
    test.worker.start();
    await claiming.promise;
    db.read.off("query", listener);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = test.worker.stop(5_000);
    mayCommit.resolve();
    await blocker;
    await stopped;
    expect(handled).toBe(0);
    expect((await jobs()).map((job) => job.state)).toEqual(["queued", "queued"]);
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
