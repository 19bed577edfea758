import { createTable, dropTable } from "./helpers.mjs";

/** Commits that pull requests and merge groups propose: one row for each head that a pull request has had. */
export const up = (knex) =>
  createTable(knex, "pull_request_heads", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    // 0 for a merge group, which has a branch of its own instead.
    table.integer("number").notNullable();
    column.text("merge_branch");
    column.hash("head_sha").notNullable();
    column.text("base_ref").notNullable();
    // Head of the base branch when the head was looked at.
    column.hash("base_head").notNullable();
    // What the head was compared with, once it was.
    column.hash("base_sha");
    // Empty for a merge group, and for an account that is gone.
    column.name("author").notNullable();
    column.flag("author_belongs").notNullable();
    // Login of the member whose connections the suites use.
    column.name("run_as");
    column.flag("fork").notNullable();
    column.name("approved_by");
    column.word("state").notNullable();
    column.text("reason");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    column.instant("finished_at");
    table.unique(["workspace_id", "head_sha", "number"], { indexName: "pull_request_heads_sha" });
    table.index(["workspace_id", "number", "id"], "pull_request_heads_number");
    table.index(["state", "updated_at"], "pull_request_heads_state");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "pull_request_heads");
