import { createTable, dropTable } from "./helpers.mjs";

/** Conversations with chat apps. */
export const up = (knex) =>
  createTable(knex, "chat_threads", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.id("chat_app_id").notNullable();
    // The platform's names.
    column.name("channel").notNullable();
    column.name("thread").notNullable();
    // Whom the conversation is with: the agent of its newest run.
    column.name("agent");
    // What was said before this (the platform's order) was stopped.
    column.name("stopped_before");
    // Counts what has happened, so that whoever works it off sees whether it is done.
    column.count("revision").notNullable();
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.unique(["chat_app_id", "channel", "thread"], { indexName: "chat_threads_place" });
    table.index(["updated_at"], "chat_threads_updated");
  });

export const down = (knex) => dropTable(knex, "chat_threads");
