import { pino } from "pino";
import { describe } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { openSqlStore } from "../../src/platform/scheduler/wake-store.ts";
import { createWakeUps } from "../../src/platform/scheduler/wake-ups.ts";
import { databases, useDatabase } from "../support/databases.ts";
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
