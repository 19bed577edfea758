import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { openMongoStore } from "../../../src/platform/scheduler/mongo-store.ts";
import { createWakeUps, type WakeUps } from "../../../src/platform/scheduler/wake-ups.ts";
import { freshDatabase } from "../../support/databases.ts";
import { type MongoForTest, mongoTitle, startMongo } from "../../support/mongo-server.ts";

const hour = 3_600_000;

describe(`faults of ${mongoTitle}`, () => {
  let mongo: MongoForTest;
  let wakeUps: WakeUps;
  let lines: string[];

  const open = async (mongoUrl: string) => {
    const { db } = await freshDatabase("sqlite", { migrated: false });
    const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    return createWakeUps({ db, logger, clock: systemClock, mongoUrl });
  };
  beforeEach(async () => {
    lines = [];
    mongo = await startMongo();
    wakeUps = await open(mongo.url);
  });
  afterEach(async () => {
    await wakeUps.stop();
    mongo.proxy.resume();
    await mongo.stop();
  });

  it("neither ensures for ever nor stops for ever while the server is silent, and says so once", async () => {
    await wakeUps.start(() => {});
    await wakeUps.ensure([Date.now() + hour]);
    mongo.proxy.pause();
    await vi.waitFor(
      async () => {
        await wakeUps.ensure([Date.now() + 2 * hour]);
        expect(wakeUps.state().connected).toBe(false);
      },
      { timeout: 20_000 },
    );
    await wakeUps.stop();
    expect(lines.filter((line) => line.includes("store is away"))).toHaveLength(1);
  });

  it("says when a server that was away is back", async () => {
    mongo.proxy.refuse();
    await wakeUps.ensure([]);
    mongo.proxy.resume();
    await vi.waitFor(
      async () => {
        await wakeUps.ensure([]);
        expect(wakeUps.state()).toEqual({ store: "mongodb", connected: true });
      },
      { timeout: 20_000, interval: 200 },
    );
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      expect.stringContaining("away"),
      expect.stringContaining("back"),
    ]);
  });

  it("outlives connections that break in the middle of its work", async () => {
    let wakes = 0;
    await wakeUps.start(() => {
      wakes += 1;
    });
    const breaking = setInterval(() => mongo.proxy.dropAll(), 90);
    await vi.waitFor(
      async () => {
        await wakeUps.ensure([Date.now()]);
        expect(lines.length).toBeGreaterThan(0);
      },
      { timeout: 20_000 },
    );
    clearInterval(breaking);
    const before = wakes;
    await vi.waitFor(
      async () => {
        await wakeUps.ensure([Date.now()]);
        expect(wakes).toBeGreaterThan(before);
      },
      { timeout: 20_000, interval: 200 },
    );
  });

  it("removes what a process has finished that died before it could remove it", async () => {
    const store = openMongoStore(mongo.url);
    await store.backend.connect();
    await store.open();
    const finished = (ago: number, bucket: number) => ({
      name: "wake-up",
      priority: 0,
      type: "normal" as const,
      nextRunAt: null,
      lastFinishedAt: new Date(Date.now() - ago),
      data: { bucket },
    });
    await store.backend.repository.saveJob(finished(hour, 200), undefined);
    await store.backend.repository.saveJob(finished(0, 400), undefined);
    await wakeUps.ensure([]);
    const { jobs } = await store.backend.repository.queryJobs({ name: "wake-up" });
    expect(jobs.map((job) => job.data)).toEqual([{ bucket: 400 }]);
    await store.close();
  });

  it.skipIf(process.env.TEST_MONGODB_URL)(
    "asks the server nothing about instants that it has ensured a moment ago",
    async () => {
      const instants = [1, 2, 3].map((hours) => Date.now() + hours * hour);
      await wakeUps.ensure(instants);
      const inserts = () =>
        mongo.standIn?.commands.filter((command) => "findAndModify" in command && command.upsert).length;
      const before = inserts();
      for (let times = 0; times < 50; times++) await wakeUps.ensure(instants);
      expect(inserts()).toBe(before);
    },
  );

  it("refuses an address that cannot be understood, without quoting it", async () => {
    const refusal = await open("mongodb://rollcall:pass-word%@localhost").catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "ConfigError", message: expect.stringContaining("MONGODB_URL") });
    expect(String(refusal)).not.toContain("pass-word");
  });
});
