import type { AddressInfo } from "node:net";
import express from "express";
import { readConfig } from "../src/platform/config.ts";
import { openDatabase } from "../src/platform/db/index.ts";

/** What POST /runs is measured against: a bare Express route with one Knex insert, on the same engine. */
const config = readConfig();
const db = openDatabase(config.database);
const knex = db.writer;
await knex.schema.dropTableIfExists("yardstick");
await knex.schema.createTable("yardstick", (table) => {
  table.string("id", 40).primary();
  table.text("body");
  table.bigInteger("created_at");
});

let count = 0;
const app = express();
app.disable("x-powered-by");
app.post("/insert", express.json(), async (req, res) => {
  await knex("yardstick").insert({
    id: `row_${count++}`,
    body: JSON.stringify(req.body),
    created_at: Date.now(),
  });
  res.status(202).json({ id: count });
});

const server = app.listen(config.port, config.host, () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`ready at http://127.0.0.1:${port}\n`);
});
process.on("SIGTERM", () => {
  server.closeAllConnections();
  server.close(async () => {
    await knex.schema.dropTableIfExists("yardstick");
    await db.close();
    process.exit(0);
  });
});
