import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "idempotency_keys", (table, column) => {
    // SHA-256 over member, method, path and key.
    column.hash("id").primary();
    column.hash("body_hash").notNullable();
    column.instant("created_at").notNullable();
    table.integer("status").notNullable();
    // The answer's JSON; null when it held a secret, `target` names the record then.
    column.text("answer");
    table.string("target", 255).notNullable();
    table.index(["created_at"], "idempotency_keys_age");
  });

export const down = (knex) => dropTable(knex, "idempotency_keys");
