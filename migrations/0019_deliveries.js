import { createTable, dropTable } from "./helpers.mjs";

/** Messages that were verified and are kept for being worked off, and off again. */
export const up = (knex) =>
  createTable(knex, "deliveries", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.word("source").notNullable();
    // The sender's own name for it: what comes again under that name is the same delivery.
    column.name("external_id").notNullable();
    column.name("event").notNullable();
    column.name("action");
    column.word("state").notNullable();
    column.text("reason");
    table.integer("attempts").notNullable();
    column.instant("received_at").notNullable();
    // The body as it was signed, compressed. Last, so that lists read past it.
    table.specificType("payload", "longblob").notNullable();
    table.unique(["source", "external_id"], { indexName: "deliveries_external_id" });
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "deliveries");
