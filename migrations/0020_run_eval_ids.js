import { addColumn, dropColumn } from "./helpers.mjs";

/** The suite that an eval run is a case of. */
export const up = (knex) => addColumn(knex, "runs", "eval_id", (column, name) => column.id(name));

export const down = (knex) => dropColumn(knex, "runs", "eval_id");
