import { addColumn, dropColumn } from "./helpers.mjs";

/** JSON of the agents that an agent may hand off to, each with its place in the file; null for none. */
export const up = (knex) => addColumn(knex, "agents", "handoffs", (column, name) => column.text(name));

export const down = (knex) => dropColumn(knex, "agents", "handoffs");
