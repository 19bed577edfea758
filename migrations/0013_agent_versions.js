import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "agent_versions", (table, column) => {
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    table.integer("number").notNullable();
    column.name("framework").notNullable();
    column.hash("spec_sha").notNullable();
    column.hash("commit_sha").notNullable();
    // 1 for the one snapshot that is stable.
    column.flag("stable").notNullable();
    column.instant("created_at").notNullable();
    table.primary(["workspace_id", "agent", "number"]);
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "agent_versions");
