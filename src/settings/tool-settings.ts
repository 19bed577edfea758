import { z } from "zod";
import { fromJson } from "../platform/db/index.ts";
import { sha256 } from "../platform/secrets.ts";
import type { Stored } from "./model-keys.ts";
import { IntegrationProviderName, type SettingsChange, type SettingsRecord } from "./schema.ts";
import type { SettingRow } from "./store.ts";

/** What the event-integration and tool provider is called with. */
export interface IntegrationSettings {
  provider: IntegrationProviderName;
  /** Undefined: not set, or no longer to be opened. Without it the provider counts as not configured. */
  apiKey: string | undefined;
  /** Key of the signatures on the provider's deliveries; undefined like `apiKey`. */
  webhookSecret: string | undefined;
  /** Changes with the API key: what was read with the one before may be another project's. */
  revision: string;
}

/** A server that offers tools over MCP. */
export interface McpServer {
  name: string;
  url: string;
  /** Sent with every request; undefined when they can no longer be opened. */
  headers: Readonly<Record<string, string>> | undefined;
  /** Changes with the URL and the headers. */
  revision: string;
}

/** The settings of one workspace. */
export interface SettingReader {
  row(name: string): SettingRow | undefined;
  open(row: SettingRow): NonNullable<Stored>;
}

/** One row to store, or to remove when its value is null. Plain values become JSON, secret texts are sealed. */
export interface SettingChange {
  name: string;
  value: unknown;
  secret: boolean;
}

const StoredServer = z.object({ name: z.string(), url: z.string(), headerNames: z.array(z.string()) });
const Headers = z.record(z.string(), z.string());
const serversName = "mcpServers";
const headersName = (server: string) => `${serversName}.${server}.headers`;

const secretParts = ["apiKey", "webhookSecret"] as const;

export function readIntegration({ row, open }: SettingReader): IntegrationSettings {
  const textOf = (part: string) => {
    const found = row(`integration.${part}`);
    const stored = found && open(found);
    return stored && "value" in stored ? stored.value : undefined;
  };
  return {
    provider: IntegrationProviderName.catch("composio").parse(textOf("provider")),
    apiKey: textOf("apiKey"),
    webhookSecret: textOf("webhookSecret"),
    // The sealed text has a nonce, so it tells nothing of the key and is another one each time a key is set.
    revision: sha256(row("integration.apiKey")?.value ?? ""),
  };
}

export function describeIntegration(
  { provider, apiKey, webhookSecret }: IntegrationSettings,
  webhookUrl: string | null,
): SettingsRecord["integration"] {
  return {
    provider,
    apiKey: { set: apiKey !== undefined },
    webhookSecret: { set: webhookSecret !== undefined },
    webhookUrl,
  };
}

const storedServers = (row: SettingReader["row"]) => {
  const found = row(serversName);
  return found ? fromJson(z.array(StoredServer), found.value) : [];
};

export function readMcpServers({ row, open }: SettingReader): McpServer[] {
  return storedServers(row).map(({ name, url }) => {
    const sealed = row(headersName(name));
    const opened = sealed ? open(sealed) : { value: "{}" };
    const headers = "value" in opened ? fromJson(Headers, opened.value) : undefined;
    return { name, url, headers, revision: sha256(`${url}\n${sealed?.value ?? ""}`) };
  });
}

/** Names of headers are shown, their values never. */
export function describeMcpServers({ row }: SettingReader): SettingsRecord["mcpServers"] {
  return storedServers(row).map(({ name, url, headerNames }) => ({
    name,
    url,
    headers: Object.fromEntries(headerNames.map((header) => [header, { set: true as const }])),
  }));
}

export function integrationChanges({ integration }: SettingsChange): SettingChange[] {
  if (!integration) return [];
  const { provider } = integration;
  const plain =
    provider === undefined ? [] : [{ name: "integration.provider", value: provider, secret: false }];
  const secrets = secretParts.flatMap((part) => {
    const value = integration[part];
    return value === undefined ? [] : [{ name: `integration.${part}`, value, secret: true }];
  });
  return [...plain, ...secrets];
}

/**
 * The list that is given replaces the one there is. A server without `headers` keeps those it has as long as
 * its URL stays: whoever can change the URL alone must not have secrets sent to it that they cannot read.
 */
export function mcpServerChanges(row: SettingReader["row"], { mcpServers }: SettingsChange): SettingChange[] {
  if (mcpServers === undefined) return [];
  const wanted = mcpServers ?? [];
  const before = storedServers(row);
  const headerChanges: SettingChange[] = [];
  const servers = wanted.map(({ name, url, headers }) => {
    const known = before.find((server) => server.name === name && server.url === url);
    if (headers === undefined && known) return known;
    const value = headers && Object.keys(headers).length > 0 ? JSON.stringify(headers) : null;
    headerChanges.push({ name: headersName(name), value, secret: true });
    return { name, url, headerNames: Object.keys(headers ?? {}).sort() };
  });
  const gone = before.filter(({ name }) => !wanted.some((server) => server.name === name));
  return [
    { name: serversName, value: mcpServers === null ? null : servers, secret: false },
    ...headerChanges,
    ...gone.map(({ name }) => ({ name: headersName(name), value: null, secret: true })),
  ];
}

/** Every text in the headers that must not be logged: the values, and what follows a scheme such as Bearer. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
}
