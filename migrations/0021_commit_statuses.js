import { createTable, dropTable } from "./helpers.mjs";

/** What is to be shown on commits, and what the repository's host was told of it. */
export const up = (knex) =>
  createTable(knex, "commit_statuses", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.hash("sha").notNullable();
    // What is wanted; the revision grows with every change of it.
    column.word("state").notNullable();
    column.text("description").notNullable();
    // JSON of a CheckRunReport.
    column.text("report").notNullable();
    table.integer("revision").notNullable();
    // What was done: the newest revision that was posted or given up.
    table.integer("settled_revision").notNullable();
    column.word("post_state").notNullable();
    column.text("post_reason");
    column.count("check_run_id");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.unique(["workspace_id", "sha"], { indexName: "commit_statuses_sha" });
    table.index(["post_state", "updated_at"], "commit_statuses_post");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "commit_statuses");
