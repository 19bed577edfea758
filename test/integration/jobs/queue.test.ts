import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createJobQueue, queueDepth } from "../../../src/platform/jobs/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("job queue on %s", (engine) => {
  const database = useDatabase(engine);
  const queueOf = () => createJobQueue(database.db, createIds(), systemClock);
  const jobs = () => database.db.read("jobs").orderBy("id");

  it("adds a job exactly when the caller's transaction is committed, and wakes then", async () => {
    const { db } = database;
    const queue = queueOf();
    const woken: string[] = [];
    queue.onWake((kind) => woken.push(kind));
    const undone = db.transaction(async (tx) => {
      await queue.enqueue(tx, { kind: "mail", payload: 1 });
      throw new Error("changed my mind");
    });
    await expect(undone).rejects.toThrow("changed my mind");
    expect(await jobs()).toEqual([]);
    expect(woken).toEqual([]);

    await db.transaction(async (tx) => {
      await queue.enqueue(tx, { kind: "mail", payload: { to: "ü" } });
      expect(woken).toEqual([]);
    });
    expect(woken).toEqual(["mail"]);
    expect(await jobs()).toMatchObject([
      { kind: "mail", payload: '{"to":"ü"}', state: "queued", attempt: 0, claim: null },
    ]);
  });

  it("wakes for a job of a savepoint once the whole is committed, and not when the savepoint was undone", async () => {
    const queue = queueOf();
    const woken: string[] = [];
    queue.onWake((kind) => woken.push(kind));
    await database.db.transaction(async (tx) => {
      await tx.transaction((inner) => queue.enqueue(inner, { kind: "kept", payload: 1 }));
      await tx
        .transaction(async (inner) => {
          await queue.enqueue(inner, { kind: "undone", payload: 1 });
          throw new Error("undo");
        })
        .catch(() => {});
      expect(woken).toEqual([]);
    });
    expect(woken).toEqual(["kept"]);
    expect(await jobs()).toMatchObject([{ kind: "kept" }]);
  });

  it("holds one job for a unique key, by its bytes, and leaves the caller's transaction whole", async () => {
    const { db } = database;
    const queue = queueOf();
    await db.transaction(async (tx) => {
      for (const uniqueKey of ["sync", "sync", "Sync"])
        await queue.enqueue(tx, { kind: "a", payload: uniqueKey, uniqueKey });
      await queue.enqueue(tx, { kind: "b", payload: "after" });
    });
    const kept = await jobs();
    expect(kept.map((job) => JSON.parse(job.payload))).toEqual(["sync", "Sync", "after"]);
    await db.transaction((tx) => tx("jobs").where({ unique_key: "sync" }).delete());
    await db.transaction((tx) => queue.enqueue(tx, { kind: "a", payload: "again", uniqueKey: "sync" }));
    expect(await jobs()).toHaveLength(3);
  });

  it("holds one job when many ask for the same key at once", async () => {
    const { db } = database;
    const queue = queueOf();
    const asked = Array.from({ length: 20 }, (_, n) =>
      db.transaction((tx) => queue.enqueue(tx, { kind: "a", payload: n, uniqueKey: "one" })),
    );
    await Promise.all(asked);
    expect(await jobs()).toHaveLength(1);
  });

  it("adds a job as a row of a grouped commit", async () => {
    const queue = queueOf();
    await database.db.commit({
      rows: [queue.row({ kind: "a", payload: [1] }), queue.row({ kind: "b", payload: [2], uniqueKey: "k" })],
    });
    expect(await jobs()).toMatchObject([
      { kind: "a", payload: "[1]", unique_key: null },
      { kind: "b", payload: "[2]", unique_key: "k" },
    ]);
  });

  it("lists dead jobs newest first in pages and gives one a fresh set of tries", async () => {
    const { db } = database;
    const queue = queueOf();
    await db.commit({ rows: [1, 2, 3].map((n) => queue.row({ kind: "a", payload: n })) });
    const ids = (await jobs()).map((job) => job.id);
    await db.transaction((tx) => tx("jobs").update({ state: "dead", attempt: 3, error: "broken" }));
    expect((await queue.listDead(2)).map((job) => job.id)).toEqual([ids[2], ids[1]]);
    expect((await queue.listDead(2, ids[1])).map((job) => job.id)).toEqual([ids[0]]);

    const woken: string[] = [];
    queue.onWake((kind) => woken.push(kind));
    await db.transaction((tx) => queue.retryDead(tx, ids[1]));
    expect(woken).toEqual(["a"]);
    expect(await db.read("jobs").where({ id: ids[1] }).first()).toMatchObject({
      state: "queued",
      attempt: 0,
    });
    const again = db.transaction((tx) => queue.retryDead(tx, ids[1]));
    await expect(again).rejects.toMatchObject({ status: 404 });
    expect(woken).toEqual(["a"]);
  });

  it("counts by state, also when this process's clock is ahead of the database's", async () => {
    const ahead = createJobQueue(database.db, createIds(), () => Date.now() + 3_600_000);
    await database.db.commit({
      rows: [ahead.row({ kind: "a", payload: 1 }), ahead.row({ kind: "a", payload: 2 })],
    });
    expect(await queueDepth(database.db)).toEqual({ counts: { queued: 2 }, oldestMs: 0 });
  });
});
