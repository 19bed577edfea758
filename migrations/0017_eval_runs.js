import { createTable, dropTable } from "./helpers.mjs";

/** One run of one case; a case that is repeated has several. */
export const up = (knex) =>
  createTable(knex, "eval_runs", (table, column) => {
    column.id("run_id").primary();
    column.id("suite_id").notNullable();
    table.integer("case_index").notNullable();
    table.integer("repetition").notNullable();
    // All of these are set at once, when the run has ended and was judged.
    column.instant("evaluated_at");
    column.flag("passed");
    // JSON of the results.
    column.text("assertions");
    column.flag("judge_passed");
    column.text("judge_reason");
    column.count("duration_ms");
    table.double("cost_usd");
    table.unique(["suite_id", "case_index", "repetition"], { indexName: "eval_runs_place" });
  });

export const down = (knex) => dropTable(knex, "eval_runs");
