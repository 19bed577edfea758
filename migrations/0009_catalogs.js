import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "catalogs", (table, column) => {
    column.id("workspace_id").primary();
    // What the catalog was read from; another repository starts it anew.
    table.string("repository", 512).notNullable();
    column.hash("commit_sha");
    column.instant("synced_at");
    column.flag("stale").notNullable();
    column.text("error");
    // JSON: problems that belong to no agent.
    column.text("problems").notNullable();
    // Goes up with each change of the catalog; readers cache by it.
    column.count("revision").notNullable();
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "catalogs");
