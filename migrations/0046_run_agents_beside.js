import { addColumn, dropColumn } from "./helpers.mjs";

/** JSON of the agents that go with a run, spec hashes by name; null: the catalog's, whatever they are by then. */
export const up = (knex) => addColumn(knex, "runs", "agents_beside", (column, name) => column.text(name));

export const down = (knex) => dropColumn(knex, "runs", "agents_beside");
