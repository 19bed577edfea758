import { addColumn, dropColumn } from "./helpers.mjs";

/** Who made a snapshot, and the eval file and the suite that let it pass. */
const columns = {
  eval_sha: (column, name) => column.hash(name),
  eval_id: (column, name) => column.id(name),
  // The default is for rows that were there before; no member can have this login.
  promoted_by: (column, name) => column.name(name).notNullable().defaultTo("rollcall:system"),
};

export const up = async (knex) => {
  for (const [name, build] of Object.entries(columns)) await addColumn(knex, "agent_versions", name, build);
};

export const down = async (knex) => {
  for (const name of Object.keys(columns).reverse()) await dropColumn(knex, "agent_versions", name);
};
