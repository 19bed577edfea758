import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "agents", (table, column) => {
    column.id("workspace_id").notNullable();
    column.hash("path_hash").notNullable();
    table.string("path", 1024).notNullable();
    column.name("name").notNullable();
    // Names that some file systems cannot keep apart have one group; they are derived together.
    column.name("agent_group").notNullable();
    column.name("framework").notNullable();
    column.word("format").notNullable();
    column.flag("valid").notNullable();
    // JSON texts.
    column.text("problems").notNullable();
    column.text("labels").notNullable();
    column.text("connections").notNullable();
    column.text("spec_text");
    column.hash("spec_sha");
    column.hash("last_valid_sha");
    table.string("eval_path", 1024);
    column.text("eval_text");
    column.hash("eval_sha");
    column.text("eval_problems").notNullable();
    column.flag("has_evals").notNullable();
    column.hash("commit_sha").notNullable();
    column.instant("updated_at").notNullable();
    table.primary(["workspace_id", "path_hash"]);
    table.index(["workspace_id", "name", "path_hash"], "agents_name");
    table.index(["workspace_id", "agent_group"], "agents_group");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "agents");
