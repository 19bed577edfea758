import { createTable, dropTable } from "./helpers.mjs";

/** What was said in conversations with chat apps, and what has become of each message. */
export const up = (knex) =>
  createTable(knex, "chat_turns", (table, column) => {
    column.id("id").primary();
    column.id("thread_id").notNullable();
    column.id("chat_app_id").notNullable();
    column.id("delivery_id").notNullable();
    column.name("user_id").notNullable();
    // The platform's name of the message, which sorts by time.
    column.name("message_ts").notNullable();
    column.text("body").notNullable();
    column.word("state").notNullable();
    column.name("agent");
    // JSON of the agents that were offered.
    column.text("choice");
    column.id("run_id");
    // What is answered where there is no run.
    column.text("notice");
    // The message of ours that is changed in place, what it says while the run goes on, and parts of the answer posted.
    column.name("reply_ts");
    column.text("progress");
    table.integer("posted").notNullable();
    column.text("reason");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.unique(["thread_id", "message_ts"], { indexName: "chat_turns_message" });
    table.index(["thread_id", "state"], "chat_turns_state");
    table.index(["chat_app_id", "state"], "chat_turns_app");
    table.index(["run_id"], "chat_turns_run");
  });

export const down = (knex) => dropTable(knex, "chat_turns");
