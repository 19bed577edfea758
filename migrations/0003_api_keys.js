import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "api_keys", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.name("member").notNullable();
    column.name("name").notNullable();
    column.hash("hash").notNullable().unique("api_keys_hash");
    // The first characters of the key, for people to tell keys apart.
    column.word("preview").notNullable();
    column.flag("enabled").notNullable();
    column.instant("created_at").notNullable();
    column.instant("last_used_at");
    column.instant("revoked_at");
    // Set when the key's member is removed; it stays dead when a member of that login comes back.
    column.instant("orphaned_at");
    table.index(["workspace_id", "member"], "api_keys_member");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "api_keys");
