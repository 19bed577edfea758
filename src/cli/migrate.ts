import { parseArgs } from "node:util";
import type { Config } from "../platform/config.ts";
import { migrate, openDatabase, rollback } from "../platform/db/index.ts";
import { exitCodeOf } from "./command.ts";

const usage = "Usage: rollcall migrate [--down]";

/** `rollcall migrate`: applies what is missing, or takes the newest step back. Returns the exit code. */
export function migrateCommand(
  args: string[],
  config: Config,
  print: (text: string) => void,
): Promise<number> {
  return exitCodeOf(usage, print, async () => {
    const { down } = parseArgs({ args, options: { down: { type: "boolean", default: false } } }).values;
    const db = openDatabase(config.database);
    try {
      const names = down ? await rollback(db, config.database, false) : await migrate(db, config.database);
      for (const name of names) print(`${down ? "taken back" : "applied"}  ${name}`);
      if (names.length === 0) print("The database is up to date.");
    } finally {
      await db.close();
    }
  });
}
