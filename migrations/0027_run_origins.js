import { addColumn, dropColumn } from "./helpers.mjs";

const origins = ["automation_id", "trigger_id", "webhook_id"];

/** What started a run that nobody asked for through the API. */
export async function up(knex) {
  for (const origin of origins) await addColumn(knex, "runs", origin, (column, name) => column.id(name));
}

export async function down(knex) {
  for (const origin of origins.toReversed()) await dropColumn(knex, "runs", origin);
}
