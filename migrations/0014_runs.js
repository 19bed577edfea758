import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "runs", (table, column) => {
    column.id("id").primary();
    // No foreign key: looking the workspace up and locking it for each run costs what an index costs.
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    column.name("framework").notNullable();
    column.word("version").notNullable();
    column.hash("commit_sha").notNullable();
    column.hash("spec_sha").notNullable();
    column.word("status").notNullable();
    column.word("trigger").notNullable();
    // 0 for eval runs, which lists leave out.
    column.flag("listed").notNullable();
    column.word("environment").notNullable();
    column.name("run_as").notNullable();
    column.text("message").notNullable();
    column.text("output");
    column.name("model");
    column.count("tokens_input").notNullable();
    column.count("tokens_output").notNullable();
    column.count("tokens_cached").notNullable();
    table.double("cost_usd");
    column.word("failure_code");
    column.text("error_details");
    column.instant("created_at").notNullable();
    column.instant("started_at");
    column.instant("finished_at");
    column.instant("cancel_requested_at");
    // The job's attempt that may write; a tool that was called makes a second execution unsafe.
    table.integer("attempt").notNullable();
    column.count("tool_calls").notNullable();
    table.index(["workspace_id", "listed", "id"], "runs_list");
    table.index(["workspace_id", "agent", "id"], "runs_agent");
    table.index(["workspace_id", "status", "id"], "runs_status");
    table.index(["workspace_id", "trigger", "id"], "runs_trigger");
    table.index(["workspace_id", "listed", "environment", "id"], "runs_environment");
  });

export const down = (knex) => dropTable(knex, "runs");
