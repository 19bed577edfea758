import { pino } from "pino";
import { describe } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { openMongoStore } from "../../src/platform/scheduler/mongo-store.ts";
import { openSqlStore } from "../../src/platform/scheduler/wake-store.ts";
import { createWakeUps } from "../../src/platform/scheduler/wake-ups.ts";
import { databases, useDatabase } from "../support/databases.ts";
import { mongoTitle, startMongo } from "../support/mongo-server.ts";
import { describeScheduler } from "./scheduler.suite.ts";

const logger = pino({ level: "silent" });

describe.each(databases())("%s", (engine) => {
  const database = useDatabase(engine);
  describeScheduler("the service's own database", async () => {
    const { db } = database;
    const rename = (from: string, to: string) => db.writer.schema.renameTable(from, to);
    return {
      kind: "sql",
      open: (options) => createWakeUps({ db, logger, clock: systemClock, mongoUrl: undefined, ...options }),
      repository: openSqlStore(db).backend.repository,
      // A table that is not there fails whatever touches it, on both engines and on every connection.
      away: () => rename("agenda_jobs", "agenda_jobs_hidden"),
      back: () => rename("agenda_jobs_hidden", "agenda_jobs"),
      async empty() {
        await db.writer("agenda_jobs").delete();
      },
      async close() {},
    };
  });
});

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
