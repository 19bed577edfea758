/**
 * A worker on the database of DATABASE_URL that appends a row to the table `effects` for each job, in the
 * transaction that completes it. Prints `ready`, `begun N` for a job that takes time, and each outcome;
 * stops on SIGTERM. Leases are short, so that what they are for happens within a test.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue, createWorker } from "../../src/platform/jobs/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";

const { database, concurrency } = readConfig();
const db = openDatabase(database);
const ids = createIds();
const queue = createJobQueue(db, ids, systemClock);
const worker = createWorker({
  db,
  queue,
  ids,
  logger: createLogger("error", createRedactor()),
  events: {
    claimed() {},
    finished: (_kind, outcome) => console.log(outcome),
  },
  pollMs: 50,
  leaseMs: 1_500,
  renewMs: 300,
  sweepMs: 200,
  abandonMs: 1_000,
});

worker.define({
  kind: "effect",
  payload: z.object({ n: z.number(), ms: z.number() }),
  concurrency,
  maxAttempts: 1_000,
  backoff: { base: 20, cap: 200 },
  async handle(job) {
    const { n, ms } = job.payload;
    if (ms > 0) {
      console.log(`begun ${n}`);
      await sleep(ms, undefined, { signal: job.signal });
    }
    await db.transaction(async (tx) => {
      await tx("effects").insert({ n, pid: process.pid });
      await job.complete(tx);
    });
  },
});
worker.start();
console.log("ready");

process.once("SIGTERM", async () => {
  await worker.stop(100);
  await db.close();
});
