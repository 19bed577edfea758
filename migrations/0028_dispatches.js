import { createTable, dropTable } from "./helpers.mjs";

/** Failures to start a run from a schedule, a trigger or a webhook: one row from the first failure to the recovery. */
export const up = (knex) =>
  createTable(knex, "dispatches", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.word("kind").notNullable();
    column.id("ref").notNullable();
    // The same as `ref` until the recovery, null from then on: one failure of each is open.
    column.id("open_ref");
    column.word("state").notNullable();
    column.instant("failed_at").notNullable();
    table.integer("attempt").notNullable();
    column.instant("next_attempt_at");
    column.text("summary").notNullable();
    column.text("diagnostics");
    column.instant("recovered_at");
    column.id("recovery_run_id");
    table.unique(["open_ref", "kind"], { indexName: "dispatches_open" });
    table.index(["workspace_id", "id"], "dispatches_list");
    table.index(["workspace_id", "state", "id"], "dispatches_state");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "dispatches");
