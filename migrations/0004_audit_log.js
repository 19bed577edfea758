import { createTable, dropTable } from "./helpers.mjs";

export const up = (knex) =>
  createTable(knex, "audit_log", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.instant("at").notNullable();
    column.name("actor").notNullable();
    // api, cli or system: how the actor came in.
    column.word("via").notNullable();
    column.name("action").notNullable();
    table.string("target", 255).notNullable();
    column.text("details");
    column.name("request_id");
    table.index(["workspace_id", "id"], "audit_log_list");
  });

export const down = (knex) => dropTable(knex, "audit_log");
