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
    // What became of the newest revision's status, and how often bringing it to the host has failed.
    column.word("post_state").notNullable();
    column.text("post_reason");
    table.integer("tries").notNullable();
    // The host's own number of the commit's check run, once there is one.
    column.count("check_run_id");
    // When the sweeper makes sure that it has a job; null as long as nothing is to be done.
    column.instant("sweep_at");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.unique(["workspace_id", "sha"], { indexName: "commit_statuses_sha" });
    table.index(["sweep_at"], "commit_statuses_sweep");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "commit_statuses");
