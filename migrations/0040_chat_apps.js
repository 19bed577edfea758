import { createTable, dropTable } from "./helpers.mjs";

/** Bots of chat platforms that start runs of agents, each with what it was installed with. */
export const up = (knex) =>
  createTable(knex, "chat_apps", (table, column) => {
    column.id("id").primary();
    column.id("workspace_id").notNullable();
    column.name("name").notNullable();
    column.word("platform").notNullable();
    // JSON of texts.
    column.text("labels").notNullable();
    column.text("agent_labels").notNullable();
    column.text("email_domains").notNullable();
    column.name("default_agent");
    column.name("owner").notNullable();
    column.flag("enabled").notNullable();
    column.word("state").notNullable();
    // Why it has to be installed again.
    column.text("state_reason");
    // Sealed JSON; null until an admin has set them.
    column.text("credentials");
    // What the installation gave: sealed JSON of tokens, the platform's names for where it is installed and for the bot.
    column.text("tokens");
    column.instant("token_expires_at");
    // Counts the tokens, so that an older attempt does not overwrite newer ones.
    column.count("token_revision").notNullable();
    // Until when one process has the right to renew the tokens.
    column.instant("renewing_until");
    column.name("team_id");
    column.text("team_name");
    column.name("bot_user_id");
    column.instant("installed_at");
    column.instant("created_at").notNullable();
    column.instant("updated_at").notNullable();
    table.index(["workspace_id", "id"], "chat_apps_list");
    table.index(["workspace_id", "owner"], "chat_apps_owner");
    table.foreign("workspace_id").references("workspaces.id");
  });

export const down = (knex) => dropTable(knex, "chat_apps");
