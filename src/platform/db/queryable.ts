import type { Knex } from "knex";

/** Something that stores can query. */
export type Queryable = Knex;

/** A transaction. Stores take one of these or `Database.read`. */
export type Tx = Knex.Transaction;
