import { addColumn, dropColumn } from "./helpers.mjs";

/** JSON of the slugs that a run is held to; null for all that its spec names. */
export const up = (knex) => addColumn(knex, "runs", "tools_allowed", (column, name) => column.text(name));

export const down = (knex) => dropColumn(knex, "runs", "tools_allowed");
