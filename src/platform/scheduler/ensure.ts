import type { Agenda } from "agenda";
import type { Clock } from "../clock.ts";
import { bucketOf, createBucketMemory } from "./buckets.ts";
import type { StoreHealth } from "./store-health.ts";
import type { WakeStore } from "./wake-store.ts";

export interface EnsureOptions {
  agenda: Agenda;
  store: WakeStore;
  health: StoreHealth;
  clock: Clock;
  /** Name of Agenda's job for a wake-up. */
  wakeJob: string;
}

/** Of a document that is never run; its id tells one filling of the store from the next. */
const epochJob = "epoch";
const checkMs = 1_000;
const memoryLimit = 20_000;
const atOnce = 50;
const leftoverMs = 60_000;

/**
 * Inserts documents for instants and remembers which it has inserted, so that asking again costs nothing.
 * What it remembers belongs to one filling of the store: at most once a second it looks for the epoch
 * document, and if that is another one, or none, the store was emptied and everything is inserted anew.
 */
export function createEnsure({ agenda, store, health, clock, wakeJob }: EnsureOptions) {
  const memory = createBucketMemory(memoryLimit);
  let epoch: string | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;

  function forget(): void {
    memory.clear();
    epoch = undefined;
    checkedAt = Number.NEGATIVE_INFINITY;
  }

  /** Inserted only if absent; answers the id of the document that is there. */
  async function insert(name: string, bucket: number): Promise<string | undefined> {
    const job = agenda.create(name, { bucket });
    job.unique({ "data.bucket": bucket }, { insertOnly: true }).schedule(new Date(bucket));
    if (name === epochJob) job.disable();
    try {
      await job.save();
    } catch (error) {
      if (!store.isDuplicate(error)) throw error;
    }
    return job.attrs._id;
  }

  async function findEpoch(): Promise<string | undefined> {
    const { jobs } = await store.backend.repository.queryJobs({ name: epochJob, limit: 1 });
    return jobs[0]?._id;
  }

  async function check(): Promise<void> {
    await agenda.ready;
    await store.open();
    const found = await findEpoch();
    if (found === undefined || found !== epoch) {
      memory.clear();
      await store.prepare();
      epoch = found ?? (await insert(epochJob, 0)) ?? (await findEpoch());
      await removeLeftovers();
    }
    checkedAt = performance.now();
  }

  /** Documents of processes that ended between finishing a wake-up and removing it. */
  async function removeLeftovers(): Promise<void> {
    const { jobs } = await store.backend.repository.queryJobs({
      name: wakeJob,
      state: "completed",
      sort: { nextRunAt: "asc" },
      limit: 100,
    });
    const before = clock() - leftoverMs;
    const ids = jobs.filter((job) => (job.lastFinishedAt?.getTime() ?? 0) < before).map((job) => job._id);
    if (ids.length > 0) await store.backend.repository.removeJobs({ ids });
  }

  async function checkNow(): Promise<void> {
    checking ??= check().finally(() => {
      checking = undefined;
    });
    await checking;
  }

  async function insertAll(buckets: readonly number[]): Promise<void> {
    const during = epoch;
    for (let from = 0; from < buckets.length; from += atOnce) {
      const some = buckets.slice(from, from + atOnce);
      await Promise.all(some.map((bucket) => insert(wakeJob, bucket)));
      if (epoch === during) for (const bucket of some) memory.add(bucket);
    }
  }

  return {
    forget,
    async ensure(instants: readonly number[]): Promise<void> {
      if (health.resting()) return;
      try {
        if (performance.now() - checkedAt >= checkMs) await checkNow();
        const now = clock();
        await insertAll(memory.unknown(instants.map((instant) => bucketOf(instant, now))));
        health.succeeded();
      } catch (error) {
        health.failed(error);
      }
    },
  };
}
