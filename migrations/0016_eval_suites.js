import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "eval_suites", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    column.word("version").notNullable();
    column.hash("commit_sha").notNullable();
    // Of the texts that the suite was made from: what promotion asks for.
    column.hash("spec_sha").notNullable();
    column.hash("eval_sha").notNullable();
    column.word("source").notNullable();
    column.name("run_as").notNullable();
    column.word("status").notNullable();
    // JSON of the eval file's cases.
    column.text("cases").notNullable();
    table.integer("total_count").notNullable();
    table.integer("passed_count").notNullable();
    column.text("error");
    column.instant("created_at").notNullable();
    column.instant("finished_at");
    table.index(["workspace_id", "agent", "id"], "eval_suites_agent");
    table.index(["status", "created_at"], "eval_suites_status");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "eval_suites");
