import { createTable, dropTable } from "./helpers.mjs";

/** Valid spec texts by their hash: what a run was made from stays readable after the repository has moved on. */
export const up = (knex) =>
  createTable(knex, "agent_specs", (_table, column) => {
    column.hash("sha").primary();
    column.word("format").notNullable();
    column.text("content").notNullable();
  });

export const down = (knex) => dropTable(knex, "agent_specs");
