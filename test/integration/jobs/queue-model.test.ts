import { strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Database, Tx } from "../../../src/platform/db/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createJobQueue, type JobRow } from "../../../src/platform/jobs/index.ts";
import * as store from "../../../src/platform/jobs/store.ts";
import { databases, emptyTables, useDatabase } from "../../support/databases.ts";

/** What the queue promises about one job, told without a database. */
interface ModelJob {
  key: string | null;
  state: "queued" | "running" | "dead" | "gone";
  attempt: number;
  /** The claim that holds it; older ones are stale. */
  holder: number | null;
}

interface Model {
  jobs: Map<string, ModelJob>;
  /** Rows that were claimed, by the number of the claim. */
  claims: JobRow[];
}

interface Real {
  db: Database;
}

type Command = fc.AsyncCommand<Model, Real>;

const ids = createIds();

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name };
}

const enqueue = (key: string | null) =>
  command(`enqueue(${key})`, async (model, { db }) => {
    const queue = createJobQueue(db, ids, systemClock);
    await db.transaction((tx) =>
      queue.enqueue(tx, { kind: "k", payload: 1, ...(key === null ? {} : { uniqueKey: key }) }),
    );
    const held =
      key !== null && [...model.jobs.values()].some((job) => job.key === key && job.state !== "gone");
    const rows: JobRow[] = await db.read("jobs");
    const added = rows.filter((row) => !model.jobs.has(row.id));
    strictEqual(added.length, held ? 0 : 1);
    for (const { id } of added) model.jobs.set(id, { key, state: "queued", attempt: 0, holder: null });
  });

const claim = (limit: number) =>
  command(`claim(${limit})`, async (model, { db }) => {
    const due = await store.dueJobs(db, "k", limit);
    const taken =
      due.length === 0 ? [] : await db.transaction((tx) => store.claimJobs(db, tx, due, ids("clm"), 60_000));
    const queued = [...model.jobs.values()].filter((job) => job.state === "queued");
    strictEqual(taken.length, Math.min(limit, queued.length));
    for (const row of taken) {
      const job = model.jobs.get(row.id);
      strictEqual(job?.state, "queued");
      Object.assign(job ?? {}, {
        state: "running",
        attempt: (job?.attempt ?? 0) + 1,
        holder: model.claims.length,
      });
      strictEqual(row.attempt, job?.attempt);
      model.claims.push(row);
    }
  });

/** Something that only the holder of a job may do, tried with any claim there ever was. */
const fenced = (
  name: string,
  pick: number,
  act: (db: Database, tx: Tx, row: JobRow) => Promise<boolean>,
  next: Partial<ModelJob>,
) =>
  command(`${name}(${pick})`, async (model, { db }) => {
    const number = model.claims.length === 0 ? -1 : pick % model.claims.length;
    const row = model.claims[number];
    if (!row) return;
    const job = model.jobs.get(row.id);
    const allowed = job?.state === "running" && job.holder === number;
    strictEqual(
      await db.transaction((tx) => act(db, tx, row)),
      allowed,
      `${name} of ${allowed ? "the holder" : "a stale claim"}`,
    );
    if (allowed) Object.assign(job ?? {}, { holder: null, ...next });
  });

const expire = (pick: number) =>
  command(`expire(${pick})`, async (model, { db }) => {
    const running = [...model.jobs].filter(([, job]) => job.state === "running");
    const [id] = running[pick % Math.max(1, running.length)] ?? [];
    if (id === undefined) return;
    await db.transaction((tx) => tx("jobs").where({ id }).update({ lease_until: 1 }));
    for (const row of await store.expiredJobs(db, ["k"], 10)) {
      strictEqual(row.id, id);
      const back = (tx: Tx) => store.requeueJob(db, tx, row, 0, "lost");
      strictEqual(
        await db.transaction(async (tx) => (await store.holdExpiredJob(db, tx, row)) && (await back(tx))),
        true,
      );
    }
    Object.assign(model.jobs.get(id) ?? {}, { state: "queued", holder: null });
  });

const revive = command("revive", async (model, { db }) => {
  const [id, job] = [...model.jobs].find(([, each]) => each.state === "dead") ?? [];
  strictEqual(await db.transaction((tx) => store.reviveJob(db, tx, id ?? "job_none")), id !== undefined);
  Object.assign(job ?? {}, { state: "queued", attempt: 0 });
});

const compare = command("compare", async (model, { db }) => {
  const rows: JobRow[] = await db.read("jobs").orderBy("id");
  const real = rows.map((row) => [row.id, row.state, row.attempt, row.unique_key].join(" "));
  const kept = [...model.jobs].filter(([, job]) => job.state !== "gone").sort(([a], [b]) => (a < b ? -1 : 1));
  strictEqual(
    real.join("\n"),
    kept.map(([id, job]) => [id, job.state, job.attempt, job.key].join(" ")).join("\n"),
  );
});

const pick = fc.nat(1_000);
const commands = fc.commands(
  [
    fc.constantFrom(null, null, "x", "y").map(enqueue),
    fc.integer({ min: 1, max: 3 }).map(claim),
    pick.map((n) => fenced("complete", n, (_db, tx, row) => store.removeJobs(tx, [row]), { state: "gone" })),
    pick.map((n) =>
      fenced("fail", n, (db, tx, row) => store.requeueJob(db, tx, row, 0, "failed"), { state: "queued" }),
    ),
    pick.map((n) => fenced("bury", n, (_db, tx, row) => store.buryJob(tx, row, "dead"), { state: "dead" })),
    pick.map(expire),
    fc.constant(revive),
    fc.constant(compare),
  ],
  { maxCommands: 40 },
);

describe.each(databases())("job queue on %s", (engine) => {
  const database = useDatabase(engine);

  it("does as its model does, whatever happens in whatever order", async () => {
    const property = fc.asyncProperty(commands, async (list) => {
      const { db } = database;
      await emptyTables(db);
      const start = { model: { jobs: new Map(), claims: [] }, real: { db } };
      await fc.asyncModelRun(() => start, [...list, compare]);
    });
    await fc.assert(property, { numRuns: engine === "sqlite" ? 100 : 15 });
  }, 60_000);
});
