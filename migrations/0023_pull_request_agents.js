import { createTable, dropTable } from "./helpers.mjs";

/** The agents that a head changes. */
export const up = (knex) =>
  createTable(knex, "pull_request_agents", (table, column) => {
    column.id("head_id").notNullable();
    // Two agents may claim one name, so that the name is no key.
    table.integer("position").notNullable();
    column.name("agent").notNullable();
    column.text("path").notNullable();
    column.text("eval_path");
    column.word("outcome").notNullable();
    // JSON of the first problem, with the path of its file.
    column.text("problem");
    column.hash("spec_sha");
    column.hash("eval_sha");
    // JSON: line of each case in the eval file.
    column.text("case_lines");
    column.hash("base_spec_sha");
    column.hash("base_eval_sha");
    column.id("suite_id");
    table.primary(["head_id", "position"]);
  });

export const down = (knex) => dropTable(knex, "pull_request_agents");
