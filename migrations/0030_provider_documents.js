import { createTable, dropTable } from "./helpers.mjs";

/** What outside providers said last: tool catalogs and states of accounts, shared by all processes. */
export const up = (knex) =>
  createTable(knex, "provider_documents", (table, column) => {
    column.id("workspace_id").notNullable();
    column.word("kind").notNullable();
    column.name("name").notNullable();
    // Fingerprint of what it was read with; read anew when that is another one.
    column.hash("origin").notNullable();
    // JSON; both null until it was read for the first time.
    column.text("content");
    column.hash("content_sha");
    column.instant("fetched_at");
    // When it may be read again. Moving this on is also how a process claims the reading.
    column.instant("refresh_at").notNullable();
    // One safe sentence; null when the last reading went well.
    column.text("failure");
    table.primary(["workspace_id", "kind", "name"]);
    table.index(["refresh_at"], "provider_documents_refresh");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "provider_documents");
