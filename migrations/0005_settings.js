import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "settings", (table, column) => {
    column.id("workspace_id").notNullable();
    column.name("name").notNullable();
    // JSON, or a sealed text when `sealed` is 1.
    column.text("value").notNullable();
    column.flag("sealed").notNullable();
    column.instant("updated_at").notNullable();
    table.primary(["workspace_id", "name"]);
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "settings");
