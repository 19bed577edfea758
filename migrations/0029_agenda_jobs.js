import { createTable, dropTable } from "./helpers.mjs";

/** Documents of Agenda where there is no MongoDB. What is polled for has columns, the rest is JSON. */
export const up = (knex) =>
  createTable(knex, "agenda_jobs", (table, column) => {
    column.id("id").primary();
    column.name("name").notNullable();
    column.hash("unique_key").unique("agenda_jobs_unique_key");
    table.integer("priority").notNullable();
    column.instant("next_run_at");
    column.instant("locked_at");
    column.flag("disabled").notNullable();
    column.text("definition").notNullable();
    column.text("state").notNullable();
    table.index(["name", "next_run_at"], "agenda_jobs_due");
    table.index(["name", "locked_at"], "agenda_jobs_locked");
  });

export const down = (knex) => dropTable(knex, "agenda_jobs");
