import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "members", (table, column) => {
    column.id("workspace_id").notNullable();
    column.name("login").notNullable();
    column.word("role").notNullable();
    column.instant("created_at").notNullable();
    table.primary(["workspace_id", "login"]);
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "members");
