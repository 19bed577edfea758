import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "rate_limits", (table, column) => {
    column.name("id").primary();
    // Start of the window that `used` counts in.
    column.instant("window_start").notNullable();
    column.count("used").notNullable();
    table.index(["window_start"], "rate_limits_age");
  });

export const down = (knex) => dropTable(knex, "rate_limits");
