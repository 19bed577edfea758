import type { Knex } from "knex";
import type { Queryable } from "./queryable.ts";

/**
 * A table to select from along one index. For `a = ? AND id < ? ORDER BY id DESC` with an index on (a, id),
 * MariaDB enters at `a` alone and reads past every newer row, which makes a later page as dear as all pages
 * before it; told which index to take, it enters at the id. SQLite, which finds this by itself, takes the hint
 * for a comment.
 */
export function alongIndex(q: Queryable, table: string, index: string): Knex.QueryBuilder {
  return q.queryBuilder().from(q.raw("?? /*! FORCE INDEX (??) */", [table, index]));
}
