import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "workspaces", (_table, column) => {
    column.id("id").primary();
    column.name("slug").notNullable().unique("workspaces_slug");
    column.instant("created_at").notNullable();
  });

export const down = (knex) => dropTable(knex, "workspaces");
