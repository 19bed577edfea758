import { isDatabaseAway } from "./db/index.ts";

/**
 * Answers many look-ups of one kind with one query. What is asked for while a query is under way waits for
 * the next one, so every answer was read after its question was asked: nothing is cached. After a batch of more than
 * one the next waits a millisecond for company: under load a query costs more than that, and a lone caller never waits.
 */
export function createBatchLoader<K, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  limit = 200,
): (key: K) => Promise<V | undefined> {
  type Waiting = { key: K; resolve(value: V | undefined): void; reject(error: unknown): void };
  let waiting: Waiting[] = [];
  let running = false;
  let crowded = false;

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      await new Promise<void>((resolve) => (crowded ? setTimeout(resolve, 1) : setImmediate(resolve)));
      const batch = waiting.slice(0, limit);
      crowded = batch.length > 1;
      waiting = waiting.slice(limit);
      try {
        const found = await load([...new Set(batch.map((entry) => entry.key))]);
        for (const entry of batch) entry.resolve(found.get(entry.key));
      } catch (error) {
        // Those who came meanwhile would only wait as long again for a database that is away.
        const away = isDatabaseAway(error) ? waiting.splice(0) : [];
        for (const entry of [...batch, ...away]) entry.reject(error);
      }
    }
    running = false;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (!running) void drain();
    });
}
