import type { Knex } from "knex";
import type { Database } from "../../src/platform/db/index.ts";

/** How a database goes about one statement. */
export interface QueryPlan {
  sql: string;
  /** The index that is gone through; undefined when the whole table is. */
  index: string | undefined;
  /** Whether rows are sorted or copied before the first one comes out. */
  sorts: boolean;
  /** Rows that were looked at to answer it; MySQL only. */
  rowsRead: number | undefined;
}

/** The plans of the statements that `work` sends by way of `db.read`, in their order. */
export async function plansOf(db: Database, work: () => Promise<unknown>): Promise<QueryPlan[]> {
  const sent: Knex.Sql[] = [];
  const note = (query: Knex.Sql) => void sent.push(query);
  db.read.on("query", note);
  await work();
  db.read.off("query", note);
  const explain = db.engine === "mysql" ? explainMysql : explainSqlite;
  const plans: QueryPlan[] = [];
  for (const { sql, bindings } of sent) plans.push(await explain(db, sql, bindings));
  return plans;
}

async function explainSqlite(db: Database, sql: string, bindings: readonly unknown[]): Promise<QueryPlan> {
  const rows: { detail: string }[] = await db.read.raw(
    `EXPLAIN QUERY PLAN ${sql}`,
    bindings as Knex.RawBinding[],
  );
  const text = rows.map((row) => row.detail).join("; ");
  const index = /^SEARCH \w+ USING (?:COVERING )?(?:INDEX (\w+)|PRIMARY KEY)/.exec(text);
  return {
    sql,
    index: index ? (index[1] ?? "PRIMARY") : undefined,
    sorts: /TEMP B-TREE/.test(text),
    rowsRead: undefined,
  };
}

async function explainMysql(db: Database, sql: string, bindings: readonly unknown[]): Promise<QueryPlan> {
  return db.transaction(async (tx) => {
    const ask = async (text: string, values: readonly unknown[] = []) =>
      (await tx.raw(text, values as Knex.RawBinding[]))[0];
    const [step, ...others] = await ask(`EXPLAIN ${sql}`, bindings);
    if (others.length > 0) throw new Error("The statement is more than one look-up.");
    const counted = async () => {
      const rows: { Value: string }[] = await ask(
        "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_first', 'Handler_read_last')",
      );
      return rows.reduce((sum, row) => sum + Number(row.Value), 0);
    };
    // Looking at the counters moves them, by the same each time.
    const [first, second] = [await counted(), await counted()];
    await ask(sql, bindings);
    const rowsRead = (await counted()) - second - (second - first);
    const whole = step.type === "ALL" || step.type === "index";
    return {
      sql,
      index: whole ? undefined : (step.key ?? undefined),
      sorts: /filesort|temporary/i.test(step.Extra ?? ""),
      rowsRead,
    };
  });
}
