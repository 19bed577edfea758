import { createTable, dropTable } from "./helpers.mjs";

/** Addresses that outside systems start runs of an agent with. */
export const up = (knex) =>
  createTable(knex, "webhooks", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    column.name("name").notNullable();
    column.name("owner").notNullable();
    column.flag("enabled").notNullable();
    // Of the bearer token; the token itself is nowhere.
    column.hash("token_hash").notNullable();
    // Null: calls need no signature.
    column.text("signing_secret");
    // JSON of slugs; null: all that the agent's spec names.
    column.text("tools");
    // 1 while a failure of it in `dispatches` is open.
    column.flag("failing").notNullable();
    column.instant("last_called_at");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.index(["workspace_id", "agent", "id"], "webhooks_agent");
    table.index(["workspace_id", "owner"], "webhooks_owner");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "webhooks");
