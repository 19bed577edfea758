import { createTable, dropTable } from "./helpers.mjs";

/** What became of each occurrence of a schedule. Its key is why none can start two runs. */
export const up = (knex) =>
  createTable(knex, "schedule_fires", (table, column) => {
    // No foreign key: whoever inserts holds the automation's row.
    column.id("automation_id").notNullable();
    column.instant("scheduled_for").notNullable();
    column.word("outcome").notNullable();
    column.text("reason");
    column.id("run_id");
    column.name("run_as");
    // A row may stand for several in a row, up to scheduled_for: how many, and the first of them.
    table.integer("count").notNullable();
    column.instant("first_scheduled_for").notNullable();
    column.instant("recorded_at").notNullable();
    table.primary(["automation_id", "scheduled_for"]);
    table.index(["recorded_at"], "schedule_fires_recorded_at");
  });

export const down = (knex) => dropTable(knex, "schedule_fires");
