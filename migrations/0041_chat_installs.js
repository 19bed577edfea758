import { createTable, dropTable } from "./helpers.mjs";

/** Installations of chat apps under way: first a link, then the state that a browser takes to the platform and back. */
export const up = (knex) =>
  createTable(knex, "chat_installs", (table, column) => {
    column.id("id").primary();
    column.id("chat_app_id").notNullable();
    column.name("requested_by").notNullable();
    // SHA-256 of the link's token, of the state and of the browser's cookie; the last two from its use on.
    column.hash("link_hash").notNullable();
    column.instant("link_expires_at").notNullable();
    column.hash("state_hash");
    column.hash("browser_hash");
    column.instant("state_expires_at");
    column.instant("finished_at");
    column.instant("created_at").notNullable();
    table.unique(["link_hash"], { indexName: "chat_installs_link_hash" });
    table.unique(["state_hash"], { indexName: "chat_installs_state_hash" });
    table.index(["chat_app_id"], "chat_installs_app");
  });

export const down = (knex) => dropTable(knex, "chat_installs");
