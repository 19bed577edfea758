import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createDocumentCache, type ProviderDocument } from "../../../src/connections/document-cache.ts";
import { forgetOldDocuments } from "../../../src/connections/index.ts";
import { IntegrationFailure } from "../../../src/integrations/index.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

const minute = 60_000;
const start = 1_790_000_000_000;

describe.each(databases())("documents of providers on %s", (engine) => {
  const database = useDatabase(engine);

  async function world({ waitMs = 5_000 } = {}) {
    const { workspaceId, logger, lines } = await setUpWorkspace(database.db);
    const time = { now: start };
    const newCache = () => {
      const deps = { db: database.db, clock: () => time.now, logger, waitMs, loadMs: 20_000 };
      const made = createDocumentCache(deps);
      onTestFinished(() => made.close());
      return made;
    };
    /** A provider that answers each question with what `answers` resolves to. */
    const provider = () => {
      const loads: PromiseWithResolvers<string[]>[] = [];
      const asked: ((count: number) => void)[] = [];
      const load: ProviderDocument<string[]>["load"] = (signal) => {
        const answer = Promise.withResolvers<string[]>();
        signal.addEventListener("abort", () => answer.reject(signal.reason));
        loads.push(answer);
        for (const tell of asked) tell(loads.length);
        return answer.promise;
      };
      /** Settles with the answer to give once the provider was asked that often. */
      const question = (count: number) =>
        new Promise<PromiseWithResolvers<string[]>>((resolve) => {
          const look = () => {
            const found = loads[count - 1];
            if (found) resolve(found);
          };
          asked.push(look);
          look();
        });
      return { load, question, count: () => loads.length };
    };
    const document = (load: ProviderDocument<string[]>["load"], origin = "one") => ({
      workspaceId,
      kind: "test.tools",
      name: "github",
      origin,
      schema: z.array(z.string()),
      freshMs: 10 * minute,
      load,
    });
    const row = () => database.db.read("provider_documents").first();
    return { workspaceId, lines, time, newCache, provider, document, row };
  }

  /** Rows are written in the background; settles when one fits. */
  async function until(check: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 5_000;
    while (!(await check())) {
      if (performance.now() > end) throw new Error("What was waited for did not happen.");
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  test("the first reading is waited for and shared by all who ask", async () => {
    const { newCache, provider, document } = await world();
    const { load, question, count } = provider();
    const [one, two] = [newCache(), newCache()];
    const readings = [one.read(document(load)), one.read(document(load)), two.read(document(load))];
    (await question(1)).resolve(["a"]);
    for (const reading of await Promise.all(readings)) expect(reading.value).toEqual(["a"]);
    expect(count()).toBe(1);
    expect((await newCache().read(document(load))).value).toEqual(["a"]);
    expect(count()).toBe(1);
  });

  test("what is old is served while it is read again, once", async () => {
    const { newCache, provider, document, time, row } = await world();
    const { load, question, count } = provider();
    const cache = newCache();
    const first = cache.read(document(load));
    (await question(1)).resolve(["a"]);
    await first;
    time.now += 10 * minute - 1;
    await cache.read(document(load));
    expect(count()).toBe(1);
    time.now += 1;
    for (const reader of [cache, newCache(), cache])
      expect((await reader.read(document(load))).value).toEqual(["a"]);
    (await question(2)).resolve(["a", "b"]);
    await until(async () => (await row()).content === '["a","b"]');
    expect((await cache.read(document(load))).value).toEqual(["a", "b"]);
    expect(count()).toBe(2);
  });

  test("a failure keeps what was known, says so, and is not repeated at once", async () => {
    const { newCache, provider, document, time, row } = await world();
    const { load, question, count } = provider();
    const cache = newCache();
    const first = cache.read(document(load));
    (await question(1)).resolve(["a"]);
    await first;
    time.now += 11 * minute;
    await cache.read(document(load));
    (await question(2)).reject(new IntegrationFailure("unavailable", "It is away."));
    await until(async () => (await row()).failure !== null);
    expect(await cache.read(document(load))).toEqual({ value: ["a"], failure: "It is away." });
    time.now += 29_000;
    await cache.read(document(load));
    expect(await cache.recheck(document(load), 0)).toEqual({ value: ["a"], failure: "It is away." });
    expect(count()).toBe(2);
    time.now += 1_000;
    await cache.read(document(load));
    const retryAt = time.now + 5 * minute;
    (await question(3)).reject(new IntegrationFailure("rate_limited", "Too many.", { retryAt }));
    await until(async () => (await row()).failure === "Too many.");
    expect(Number((await row()).refresh_at)).toBe(retryAt);
  });

  test("an error that is not meant for members is not shown to them", async () => {
    const { newCache, document, lines } = await world();
    const load = async () => {
      throw new Error("connect ECONNREFUSED 10.0.0.7");
    };
    const reading = await newCache().read(document(load));
    expect(reading).toEqual({ value: undefined, failure: "The provider cannot be read at the moment." });
    expect(lines.join("\n")).toContain("ECONNREFUSED");
  });

  test("nobody waits long for a provider that does not answer, and only once", async () => {
    const { newCache, provider, document, row } = await world({ waitMs: 20 });
    const { load, question, count } = provider();
    const cache = newCache();
    expect(await cache.read(document(load))).toEqual({ value: undefined, failure: undefined });
    (await question(1)).resolve(["late"]);
    await until(async () => (await row()).content !== null);
    expect((await cache.read(document(load))).value).toEqual(["late"]);
    expect(count()).toBe(1);
  });

  test("of another origin nothing is served", async () => {
    const { newCache, provider, document } = await world();
    const { load, question } = provider();
    const cache = newCache();
    const first = cache.read(document(load));
    (await question(1)).resolve(["old project"]);
    await first;
    const second = cache.read(document(load, "two"));
    (await question(2)).reject(new IntegrationFailure("unauthorised", "The key is wrong."));
    expect(await second).toEqual({ value: undefined, failure: "The key is wrong." });
  });

  test("a recheck waits for what is true now; what was expired is read by whoever comes next", async () => {
    const { newCache, provider, document, time } = await world();
    const { load, question, count } = provider();
    const cache = newCache();
    const first = cache.read(document(load));
    (await question(1)).resolve(["pending"]);
    await first;
    expect((await cache.recheck(document(load), 2_000)).value).toEqual(["pending"]);
    time.now += 2_000;
    const second = cache.recheck(document(load), 2_000);
    (await question(2)).resolve(["active"]);
    expect((await second).value).toEqual(["active"]);
    await database.db.transaction((tx) => cache.expire(tx, document(load)));
    expect((await cache.read(document(load))).value).toEqual(["active"]);
    await question(3);
    expect(count()).toBe(3);
  });

  test("a process that dies while it reads is replaced", async () => {
    const { newCache, provider, document, time } = await world({ waitMs: 20 });
    const dead = provider();
    await newCache().read(document(dead.load));
    await dead.question(1);
    time.now += minute;
    const { load, question } = provider();
    const cache = newCache();
    const reading = cache.read(document(load));
    (await question(1)).resolve(["a"]);
    await reading;
    await until(async () => (await cache.read(document(load))).value !== undefined);
    expect((await cache.read(document(load))).value).toEqual(["a"]);
  });

  test("what nobody asks for is forgotten after a month", async () => {
    const { newCache, document, time, row } = await world();
    await newCache().read(document(async () => ["a"]));
    const forget = () => database.db.transaction((tx) => forgetOldDocuments(tx, time.now));
    time.now += 30 * 24 * 60 * minute;
    await forget();
    expect(await row()).toBeDefined();
    time.now += 11 * minute;
    await forget();
    expect(await row()).toBeUndefined();
  });
});
