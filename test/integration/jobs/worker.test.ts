import { describe, expect, it, vi } from "vitest";
import type { Database } from "../../../src/platform/db/index.ts";
import { RetryLater } from "../../../src/platform/jobs/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { createTestWorker, enqueue, gate, kindOf, never } from "../../support/job-worker.ts";

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

  it.each([
    ["when it is woken", { pollMs: never }],
    ["at its next look", { pollMs: 20 }],
  ])("does what it had claimed when the answer to the claim was lost: %s", async (_when, settings) => {
    const { db } = database;
    const answer = Promise.withResolvers<void>();
    let lost = false;
    const unsure: Database = {
      ...db,
      async commit(unit) {
        const result = await db.commit(unit);
        if (lost) return result;
        lost = true;
        setImmediate(answer.resolve);
        throw new Error("The connection broke.");
      },
    };
    const test = createTestWorker(unsure, settings);
    const attempts: number[] = [];
    test.worker.define(kindOf(async (job) => void attempts.push(job.attempt)));
    await enqueue(db, test, [1, 2, 3]);
    test.worker.start();
    await answer.promise;
    if (settings.pollMs === never) test.queue.wake("count");
    await test.reached("done", 3);
    expect([lost, attempts]).toEqual([true, [1, 1, 1]]);
  });

  it("completes in the handler's transaction: what it stored and the end of the job are one", async () => {
    const { db } = database;
    const test = createTestWorker(db);
    let failed = false;
    let left: unknown[] | undefined;
    test.worker.define(
      kindOf((job) =>
        db.transaction(async (tx) => {
          if (failed) left = await tx("workspaces");
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
    test.queue.wake("count");
    await test.reached("done", 1);
    expect(left).toEqual([]);
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
});
