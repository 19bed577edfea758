import { createTable, dropTable } from "./helpers.mjs";

/** Events of outside systems that start runs of an agent, and what is still subscribed for those that are gone. */
export const up = (knex) =>
  createTable(knex, "triggers", (table, column) => {
    column.id("id").primary();
    // The trigger itself, or the one whose earlier subscription a retired row is.
    column.id("root_id").notNullable();
    column.id("workspace_id").notNullable();
    column.name("agent").notNullable();
    column.name("owner").notNullable();
    // The provider's id of the account.
    column.name("connection").notNullable();
    column.name("toolkit").notNullable();
    column.name("slug").notNullable();
    // JSON, as it was given.
    column.text("config").notNullable();
    // JSON of slugs; null: all that the agent's spec names.
    column.text("tools");
    column.flag("enabled").notNullable();
    // Why it was disabled by somebody else than its owner.
    column.text("disabled_reason");
    // Of connection, slug and config: what the provider keeps one subscription for. `live_key` is null once retired.
    column.hash("subscription_key").notNullable();
    column.hash("live_key");
    column.word("state").notNullable();
    column.text("error");
    column.name("provider_id");
    column.name("provider_uuid");
    // 1 from before the provider is asked to subscribe until its id is known.
    column.flag("asked").notNullable();
    // Counts the changes of what is wanted, so that an older attempt does not settle a newer wish.
    column.count("revision").notNullable();
    // 1 while a failure of it in `dispatches` is open.
    column.flag("failing").notNullable();
    column.instant("last_event_at");
    column.instant("retired_at");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.unique(["live_key"], { indexName: "triggers_live_key" });
    table.unique(["provider_id", "workspace_id"], { indexName: "triggers_provider_id" });
    table.index(["provider_uuid"], "triggers_provider_uuid");
    table.index(["root_id"], "triggers_root");
    table.index(["subscription_key"], "triggers_subscription_key");
    table.index(["workspace_id", "agent", "id"], "triggers_agent");
    table.index(["workspace_id", "owner"], "triggers_owner");
    table.index(["connection"], "triggers_connection");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "triggers");
