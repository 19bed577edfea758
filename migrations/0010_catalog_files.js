import { createTable, dropTable } from "./helpers.mjs";

/** The paths below agents/ and what they held at the commit that the catalog shows. */
export const up = (knex) =>
  createTable(knex, "catalog_files", (table, column) => {
    column.id("workspace_id").notNullable();
    // SHA-256 of the path: paths are longer than MySQL's keys may be.
    column.hash("path_hash").notNullable();
    table.string("path", 1024).notNullable();
    column.hash("blob_sha").notNullable();
    table.primary(["workspace_id", "path_hash"]);
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "catalog_files");
