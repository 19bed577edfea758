import { pino } from "pino";
import { describe } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { openMongoStore } from "../../src/platform/scheduler/mongo-store.ts";
import { createWakeUps } from "../../src/platform/scheduler/wake-ups.ts";
import { useDatabase } from "../support/databases.ts";
import { mongoTitle, startMongo } from "../support/mongo-server.ts";
import { describeScheduler } from "./scheduler.suite.ts";

const logger = pino({ level: "silent" });

describe("mongodb", () => {
  // The database of the other stores is not touched.
  const database = useDatabase("sqlite");
  describeScheduler(mongoTitle, async () => {
    const mongo = await startMongo();
    const observer = openMongoStore(mongo.url);
    await observer.backend.connect();
    await observer.open();
    return {
      kind: "mongodb",
      open: (options) =>
        createWakeUps({ db: database.db, logger, clock: systemClock, mongoUrl: mongo.url, ...options }),
      repository: observer.backend.repository,
      away: async () => mongo.proxy.refuse(),
      back: async () => mongo.proxy.resume(),
      empty: mongo.empty,
      async close() {
        mongo.proxy.resume();
        await observer.close();
        await mongo.stop();
      },
    };
  });
});
