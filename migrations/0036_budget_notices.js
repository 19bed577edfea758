import { createTable, dropTable } from "./helpers.mjs";

/** That a budget nears its end, or is used up, was logged: once in its period, whichever process saw it first. */
export const up = (knex) =>
  createTable(knex, "budget_notices", (table, column) => {
    column.id("workspace_id").notNullable();
    column.word("period").notNullable();
    column.word("scope").notNullable();
    column.name("name").notNullable();
    // warning or exceeded.
    column.word("state").notNullable();
    column.instant("noticed_at").notNullable();
    table.primary(["workspace_id", "period", "scope", "name", "state"]);
    table.index(["period"], "budget_notices_period");
  });

export const down = (knex) => dropTable(knex, "budget_notices");
