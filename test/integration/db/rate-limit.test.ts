import { describe, expect, it } from "vitest";
import { createRateLimit, forgetOldWindows } from "../../../src/platform/http/rate-limit.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("rate limit on %s", (engine) => {
  const database = useDatabase(engine);
  const minute = 60_000 * 1_000;

  it("lets exactly the limit through in a minute, however many processes share it", async () => {
    const processes = [1, 2, 3].map(() => createRateLimit(database.db, () => minute + 15_000, "api", 40));
    const calls = Array.from({ length: 90 }, (_, n) => processes[n % 3]?.take("key"));
    const results = await Promise.allSettled(calls);
    const refused = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    // What one process has leased is not another's to give, and here all of it is used.
    expect(results.length - refused.length).toBe(40);
    for (const reason of refused)
      expect(reason).toMatchObject({
        status: 429,
        headers: { "Retry-After": "45", "RateLimit-Remaining": "0" },
      });
  });

  it("counts keys and names apart and begins anew with the next minute", async () => {
    let now = minute;
    const limit = createRateLimit(database.db, () => now, "api", 1);
    const other = createRateLimit(database.db, () => now, "webhook", 1);
    expect(await limit.take("a")).toMatchObject({
      "RateLimit-Limit": "1",
      "RateLimit-Remaining": "0",
      "RateLimit-Reset": "60",
    });
    await limit.take("b");
    await other.take("a");
    await expect(limit.take("a")).rejects.toMatchObject({ status: 429 });
    now += 60_000;
    await limit.take("a");
  });

  it("is off at 0, and windows that are over are forgotten", async () => {
    const { db } = database;
    expect(await createRateLimit(db, () => minute, "api", 0).take("a")).toEqual({});
    await createRateLimit(db, () => minute, "api", 5).take("a");
    expect(await db.transaction((tx) => forgetOldWindows(tx, minute + 60_000))).toBe(0);
    expect(await db.transaction((tx) => forgetOldWindows(tx, minute + 240_000))).toBe(1);
  });
});
