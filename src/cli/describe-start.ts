import type { App, StartReport } from "../app.ts";
import type { Foundation } from "../foundation.ts";
import { configuredProviders } from "../models/index.ts";
import type { Config } from "../platform/config.ts";
import { version } from "../platform/version.ts";
import type { RepositoryReader } from "../repositories/index.ts";

export interface StartFacts {
  foundation: Foundation;
  app: App;
  reader: RepositoryReader;
  /** Where the service answers. */
  address: string;
}

/** What somebody who has just started Rollcall wants to know: where, with which key, and what is connected. */
export async function describeStart({ foundation, app, reader, address }: StartFacts): Promise<string> {
  const { config, firstKey } = foundation;
  const report = await app.report();
  const sample = config.repository === undefined;
  const rows: [string, string][] = [
    ...(firstKey && !config.adminKey
      ? [["Admin key", `${firstKey}   (shown this once: keep it)`] as [string, string]]
      : []),
    ["API", `${address}/api/v1/docs`],
    ["Repository", `${reader.label}${sample ? " (sample)" : ""}: ${agentsText(report)}`],
    ["Database", databaseText(config)],
    ["Clock", config.mongoUrl === undefined ? "in the database" : "MongoDB"],
    ["Models", modelsText(report)],
    ...missingText(config, report).map((text) => ["Not connected", text] as [string, string]),
  ];
  const lines = rows.map(([name, value]) => `  ${name.padEnd(14)}${value}`);
  return [
    `\nRollcall ${version} is ready at ${address}\n`,
    ...lines,
    "",
    ...tryIt(address, firstKey, sample),
  ].join("\n");
}

function agentsText({ agents: { valid, invalid }, catalogError }: StartReport): string {
  const total = valid + invalid;
  if (catalogError) return `${catalogError} The last known good catalog has ${total} agents.`;
  if (total === 0) return "no agents yet; add agents/ai-sdk/<name>.yaml and commit it";
  return `${total} agent${total === 1 ? "" : "s"}${invalid > 0 ? `, ${invalid} of them invalid` : ""}`;
}

function databaseText({ database }: Config): string {
  if (!("url" in database)) return database.path;
  const { host, pathname } = new URL(database.url);
  return `MySQL at ${host}${pathname}`;
}

function modelsText({ modelKeys }: StartReport): string {
  const ready = configuredProviders(modelKeys).filter(
    ({ provider, configured }) => configured && provider !== "offline",
  );
  const echo = "offline/echo (no model: it answers with the message)";
  return [...ready.map(({ provider }) => `${provider}/…`), echo].join(", ");
}

function missingText(config: Config, { modelKeys }: StartReport): string[] {
  const providers = configuredProviders(modelKeys)
    .filter(({ configured }) => !configured)
    .map(({ provider }) => provider);
  return [
    ...(providers.length > 0
      ? [`models of ${providers.join(", ")}: set a key in the environment or with PATCH /api/v1/settings`]
      : []),
    ...githubText(config),
  ];
}

function githubText({ repository, webhookSecret }: Config): string[] {
  if (repository?.kind !== "github")
    return ["GitHub: set ROLLCALL_REPOSITORY=owner/name, APP_ID and PRIVATE_KEY_PATH"];
  if (webhookSecret === undefined)
    return ["deliveries of GitHub: set WEBHOOK_SECRET; until then the branch is looked at once a minute"];
  return [];
}

function tryIt(address: string, firstKey: string | undefined, sample: boolean): string[] {
  if (!firstKey || !sample) return [];
  return [
    "Try it:",
    "",
    `  curl -s ${address}/api/v1/runs -H 'Authorization: Bearer ${firstKey}' \\`,
    `       -H 'Content-Type: application/json' -d '{"agent":"hello","message":"Hello, Rollcall"}'`,
    "",
  ];
}
