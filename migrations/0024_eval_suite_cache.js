import { addColumn, dropColumn } from "./helpers.mjs";

/** The suite whose results stand in for runs of this one's own. */
export const up = (knex) => addColumn(knex, "eval_suites", "cached_from", (column, name) => column.id(name));

export const down = (knex) => dropColumn(knex, "eval_suites", "cached_from");
