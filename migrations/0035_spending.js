import { createTable, dropTable } from "./helpers.mjs";

/** What runs have cost, summed up by what budgets are set for. */
export const up = (knex) =>
  createTable(knex, "spending", (table, column) => {
    column.id("workspace_id").notNullable();
    // A day or a month in UTC: 2026-11-21 or 2026-11.
    column.word("period").notNullable();
    // agent, member or workspace.
    column.word("scope").notNullable();
    // The agent's name or the member's login; '' for the workspace.
    column.name("name").notNullable();
    // Each process adds to rows of its own, so that none waits for the lock of another; see src/runs/README.md.
    table.smallint("shard").notNullable();
    // Billionths of a dollar, in which prices by the million tokens are whole.
    column.count("nano_usd").notNullable();
    // Runs that asked a model whose price is not known.
    column.count("unpriced_runs").notNullable();
    table.primary(["workspace_id", "period", "scope", "name", "shard"]);
    table.index(["period"], "spending_period");
  });

export const down = (knex) => dropTable(knex, "spending");
