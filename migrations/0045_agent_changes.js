import { createTable, dropTable } from "./helpers.mjs";

/** Requests to write or change an agent, and how far each one has come. */
export const up = (knex) =>
  createTable(knex, "agent_changes", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.word("kind").notNullable();
    column.name("agent").notNullable();
    // Name of an agent that is being created, so that nobody else creates it meanwhile; null otherwise.
    column.name("creating");
    column.text("agent_path").notNullable();
    column.text("description").notNullable();
    column.flag("include_evals").notNullable();
    column.name("requested_by").notNullable();
    column.word("status").notNullable();
    // What was written, kept before it is published: whoever takes the work over publishes exactly this.
    column.hash("base_sha");
    // JSON: the files, what is said of them, and the suggested automation.
    column.text("draft");
    column.id("eval_id");
    // JSON: how the suite ended, or why there is none.
    column.text("evaluation");
    column.text("branch");
    column.hash("commit_sha");
    column.text("url");
    column.text("error");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    column.instant("finished_at");
    table.unique(["workspace_id", "creating"], { indexName: "agent_changes_creating" });
    table.index(["workspace_id", "id"], "agent_changes_list");
    table.index(["workspace_id", "agent", "id"], "agent_changes_agent");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "agent_changes");
