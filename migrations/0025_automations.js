import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "automations", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    column.name("schedule").notNullable();
    column.name("timezone").notNullable();
    column.text("message").notNullable();
    column.name("owner").notNullable();
    column.word("target_version").notNullable();
    column.flag("enabled").notNullable();
    column.word("overlap").notNullable();
    // Why it is in that state; null when it is not.
    column.text("paused_reason");
    column.text("error_reason");
    column.text("waiting_reason");
    // Tries of the occurrence that waits for the repository.
    table.integer("attempts").notNullable();
    // 1 while a failure of it in `dispatches` is open.
    column.flag("failing").notNullable();
    // The occurrence that is next, and when to look at it: later than that while it waits.
    column.instant("next_run_at");
    column.instant("due_at");
    column.instant("last_fire_at");
    column.id("last_run_id");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.index(["due_at", "id"], "automations_due");
    table.index(["workspace_id", "id"], "automations_list");
    table.index(["workspace_id", "owner"], "automations_owner");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "automations");
