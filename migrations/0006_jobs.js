import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "jobs", (table, column) => {
    column.id("id").primary();
    column.name("kind").notNullable();
    column.text("payload").notNullable();
    column.name("unique_key").unique("jobs_unique_key");
    column.word("state").notNullable();
    column.instant("run_at").notNullable();
    table.integer("attempt").notNullable();
    column.id("claim");
    column.instant("lease_until");
    column.text("error");
    column.instant("created_at").notNullable();
    table.index(["state", "kind", "run_at", "id"], "jobs_claim");
  });

export const down = (knex) => dropTable(knex, "jobs");
