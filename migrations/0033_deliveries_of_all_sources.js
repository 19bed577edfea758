import { addColumn, addIndex, dropColumn, dropIndex } from "./helpers.mjs";

const columns = {
  // How the payload is kept; null is gzip, as all of them were at first.
  encoding: (column, name) => column.word(name),
  // What it was sent to: a webhook, a trigger, a chat app.
  ref: (column, name) => column.id(name),
  // What the sender called it, where that is no key of ours.
  sender_id: (column, name) => column.text(name),
  // The newest run that came of it.
  run_id: (column, name) => column.id(name),
};

// Not led by the workspace: MySQL would take them for its foreign key and could not let them go again.
const indexes = {
  deliveries_source: ["source", "workspace_id", "id"],
  deliveries_state: ["state", "workspace_id", "id"],
};

/** What GitHub's deliveries had no need of. */
export async function up(knex) {
  for (const [name, build] of Object.entries(columns)) await addColumn(knex, "deliveries", name, build);
  for (const [name, parts] of Object.entries(indexes)) await addIndex(knex, "deliveries", parts, name);
}

export async function down(knex) {
  for (const [name, parts] of Object.entries(indexes)) await dropIndex(knex, "deliveries", parts, name);
  for (const name of Object.keys(columns).toReversed()) await dropColumn(knex, "deliveries", name);
}
