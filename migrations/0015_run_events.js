import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "run_events", (table, column) => {
    column.id("run_id").notNullable();
    table.integer("attempt").notNullable();
    table.integer("seq").notNullable();
    column.name("type").notNullable();
    column.text("data").notNullable();
    column.instant("at").notNullable();
    table.primary(["run_id", "attempt", "seq"]);
  });

export const down = (knex) => dropTable(knex, "run_events");
