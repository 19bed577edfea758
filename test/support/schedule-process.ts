/**
 * A process that does nothing but sweep for due automations, over and over: arguments are the address of the
 * database, as DATABASE_URL has it, and by how many milliseconds its clock is wrong. Prints `sweeping` once it has begun.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createAccess } from "../../src/access/index.ts";
import { readConfig } from "../../src/platform/config.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";
import { assembleAutomations } from "./assemble-automations.ts";

const [address = "", wrong = "0"] = process.argv.slice(2);
const { database } = readConfig({ DATABASE_URL: address, ROLLCALL_SECRET_KEY: "0".repeat(64) });
const db = openDatabase(database);
const clock = () => Date.now() + Number(wrong);
const redactor = createRedactor();
const logger = createLogger("warn", redactor);
const access = createAccess({ db, ids: createIds(), clock, logger, redactor });
const { automations } = assembleAutomations(db, { clock, logger, redactor, access, ensure: () => {} });

console.log("sweeping");
for (;;) {
  await automations.wake();
  await sleep(5);
}
