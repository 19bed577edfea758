/**
 * Every step is one table, guarded, so that a step which was cut off half-way can be run again. Column types
 * are chosen so that both engines compare, sort and store alike: texts by their bytes, instants as epoch
 * milliseconds in bigint, JSON as text, truth values as 0 and 1.
 */

/** Creates a table unless it is there. `build(table, column)` gets Knex's table builder and the column types below. */
export async function createTable(knex, name, build) {
  if (await knex.schema.hasTable(name)) {
    // Knex adds indexes and foreign keys after the table, and MySQL commits each statement by itself. An empty
    // table may have been cut off in between and is made anew; one with rows was in use and is whole.
    if (await knex(name).first()) return;
    await knex.schema.dropTable(name);
  }
  const collation = await binaryCollation(knex);
  await knex.schema.createTable(name, (table) => {
    if (collation !== undefined) {
      table.engine("InnoDB");
      table.charset("utf8mb4");
      table.collate(collation);
    }
    build(table, columnsOf(table));
  });
}

/** utf8mb4_bin ignores spaces at the end; what heeds them has another name on MySQL and on MariaDB. */
async function binaryCollation(knex) {
  if (knex.client.config.connection.filename !== undefined) return undefined;
  const [[{ version }]] = await knex.raw("SELECT VERSION() AS version");
  return /mariadb/i.test(version) ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin";
}

export async function dropTable(knex, name) {
  await knex.schema.dropTableIfExists(name);
}

/** Adds a column unless it is there. `build(column, name)` gets the column types below. */
export async function addColumn(knex, table, name, build) {
  if (await knex.schema.hasColumn(table, name)) return;
  await knex.schema.alterTable(table, (builder) => void build(columnsOf(builder), name));
}

/** Knex would copy the whole table on SQLite, which has had a statement for this since 3.35. */
export async function dropColumn(knex, table, name) {
  if (await knex.schema.hasColumn(table, name))
    await knex.raw("ALTER TABLE ?? DROP COLUMN ??", [table, name]);
}

/** Adds an index unless it is there. */
export async function addIndex(knex, table, columns, name) {
  if (await hasIndex(knex, table, name)) return;
  await knex.schema.alterTable(table, (builder) => void builder.index(columns, name));
}

export async function dropIndex(knex, table, columns, name) {
  if (await hasIndex(knex, table, name))
    await knex.schema.alterTable(table, (builder) => void builder.dropIndex(columns, name));
}

async function hasIndex(knex, table, name) {
  if (knex.client.config.connection.filename !== undefined)
    return (await knex("sqlite_schema").where({ type: "index", name }).first("name")) !== undefined;
  const [found] = await knex.raw("SHOW INDEX FROM ?? WHERE Key_name = ?", [table, name]);
  return found.length > 0;
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
