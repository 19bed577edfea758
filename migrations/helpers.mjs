/**
 * Every step is one table, guarded, so that a step which was cut off half-way can be run again. Column types
 * are chosen so that both engines compare, sort and store alike: texts by their bytes, instants as epoch
 * milliseconds in bigint, JSON as text, truth values as 0 and 1.
 */

/** Creates a table unless it is there. `build(table, column)` gets Knex's table builder and the column types below. */
export async function createTable(knex, name, build) {
  if (await knex.schema.hasTable(name)) return;
  await knex.schema.createTable(name, (table) => {
    if (knex.client.config.connection.filename === undefined) {
      table.engine("InnoDB");
      table.charset("utf8mb4");
      table.collate("utf8mb4_bin");
    }
    build(table, columnsOf(table));
  });
}

export async function dropTable(knex, name) {
  await knex.schema.dropTableIfExists(name);
}

function columnsOf(table) {
  return {
    /** A prefixed ULID made by the service. */
    id: (name) => table.string(name, 40),
    /** Names, logins, slugs. */
    name: (name) => table.string(name, 191),
    /** A word out of a short list. */
    word: (name) => table.string(name, 32),
    /** SHA-1 or SHA-256 in hex. */
    hash: (name) => table.string(name, 64),
    instant: (name) => table.bigInteger(name),
    flag: (name) => table.smallint(name),
    count: (name) => table.bigInteger(name),
    /** Up to 16 MiB; MySQL's plain text ends at 64 KiB. */
    text: (name) => table.text(name, "mediumtext"),
  };
}
