/** Migrates the database of DATABASE_URL and prints the names of the steps that it applied, as JSON. */
import { readConfig } from "../../src/platform/config.ts";
import { migrate, openDatabase } from "../../src/platform/db/index.ts";

const { database } = readConfig();
const db = openDatabase(database);
console.log("begins");
console.log(JSON.stringify(await migrate(db, database)));
await db.close();
