import { z } from "zod";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, fromJson, type Tx, toJson } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Sealer } from "../platform/secrets.ts";
import { type BudgetSettings, budgetChanges, readBudgets } from "./budget-settings.ts";
import {
  describeModelKeys,
  type ModelKeys,
  mergeModelKeys,
  type Provider,
  type ProviderKeys,
  providerNames,
  providerParts,
  type StoredKeys,
} from "./model-keys.ts";
import { commitModes, type SettingsChange, type SettingsRecord } from "./schema.ts";
import { createSecretReader, sealingContext } from "./secret-reader.ts";
import { findSettings, putSetting, removeSetting, type SettingRow } from "./store.ts";
import {
  describeIntegration,
  describeMcpServers,
  headerSecrets,
  type IntegrationSettings,
  integrationChanges,
  type McpServer,
  mcpServerChanges,
  readIntegration,
  readMcpServers,
  type SettingChange,
  type SettingReader,
} from "./tool-settings.ts";

/** Names of the settings that a change touched, such as `modelKeys.openai.apiKey`. */
export interface Changed {
  set: string[];
  removed: string[];
}

export interface Settings {
  /** The keys that the workspace's runs use now, over those of the environment. Made for being asked often. */
  modelKeys(workspaceId: string): Promise<ModelKeys>;
  /** What runs may cost. Made for being asked often, together with the keys at best. */
  budgets(workspaceId: string): Promise<BudgetSettings>;
  /** What evals go by. */
  evals(workspaceId: string): Promise<EvalSettings>;
  /** What the writing of agents goes by. */
  authoring(workspaceId: string): Promise<AuthoringSettings>;
  /** What the provider of tools and events is called with, and what its deliveries are checked with. */
  integration(workspaceId: string): Promise<IntegrationSettings>;
  /** The MCP servers whose tools the workspace uses. */
  mcpServers(workspaceId: string): Promise<McpServer[]>;
  /** What a workspace admin may see: no secret. */
  describe(workspaceId: string): Promise<SettingsRecord>;
  /** Stores what is given, sealing secrets; null removes, what is left out stays. */
  change(tx: Tx, workspaceId: string, change: SettingsChange): Promise<Changed>;
}

/** The plain settings of evals. Null: not set. */
export type EvalSettings = Pick<SettingsRecord, (typeof evalSettings)[number]>;

/** The plain settings of agent changes. Null: not set. */
export type AuthoringSettings = Pick<SettingsRecord, (typeof authoringSettings)[number]>;

/** Settings that are one value each and no secret. */
const evalSettings = ["judgeModel", "evalOwner", "postStatus", "evalCache"] as const;
const authoringSettings = ["model", "commitMode"] as const;
const plainSettings = [...evalSettings, ...authoringSettings] as const;

export interface SettingsDeps {
  db: Database;
  clock: Clock;
  sealer: Sealer;
  redactor: Redactor;
  logger: Logger;
  /** Model keys of the environment, by provider. */
  environment: Readonly<Record<string, ProviderKeys>>;
  /** Address that the workspace's integration provider sends events to; null when it is not known. */
  integrationHookUrl(workspaceId: string): Promise<string | null>;
}

export function createSettings(deps: SettingsDeps): Settings {
  const { db, environment } = deps;
  const readSecret = createSecretReader(deps);
  const rowsOf = createBatchLoader<string, SettingRow[]>((ids) => findSettings(db.read, ids));

  async function storedKeys(workspaceId: string): Promise<StoredKeys> {
    const rows = new Map((await rowsOf(workspaceId))?.map((row) => [row.name, row]));
    const partsOf = (provider: Provider) =>
      Object.fromEntries(
        providerParts[provider].map((part) => {
          const row = rows.get(settingName(provider, part));
          return [part, row && openRow(row)];
        }),
      );
    return Object.fromEntries(providerNames.map((provider) => [provider, partsOf(provider)]));
  }

  const openRow = (row: SettingRow) =>
    row.sealed === 1
      ? readSecret(row.value, row.workspace_id, row.name)
      : { value: fromJson(z.string(), row.value) };

  async function plainReader(workspaceId: string) {
    const { row } = await readerOf(workspaceId);
    return <S extends z.ZodType>(name: (typeof plainSettings)[number], schema: S): z.infer<S> | null => {
      const found = row(name);
      return found ? fromJson(schema, found.value) : null;
    };
  }

  async function authoring(workspaceId: string): Promise<AuthoringSettings> {
    const plain = await plainReader(workspaceId);
    return {
      model: plain("model", z.string()),
      commitMode: plain("commitMode", z.enum(commitModes)) ?? "pull_request",
    };
  }

  async function evals(workspaceId: string): Promise<EvalSettings> {
    const plain = await plainReader(workspaceId);
    return {
      judgeModel: plain("judgeModel", z.string()),
      evalOwner: plain("evalOwner", z.string()),
      postStatus: plain("postStatus", z.boolean()) ?? true,
      evalCache: plain("evalCache", z.boolean()) ?? true,
    };
  }

  async function readerOf(workspaceId: string): Promise<SettingReader> {
    const rows = new Map((await rowsOf(workspaceId))?.map((row) => [row.name, row]));
    return { row: (name) => rows.get(name), open: openRow };
  }

  async function mcpServers(workspaceId: string): Promise<McpServer[]> {
    const servers = readMcpServers(await readerOf(workspaceId));
    for (const { headers = {} } of servers) {
      for (const secret of headerSecrets(headers)) deps.redactor.register(secret);
    }
    return servers;
  }

  async function describe(workspaceId: string): Promise<SettingsRecord> {
    const reader = await readerOf(workspaceId);
    return {
      budgets: readBudgets(reader.row),
      integration: describeIntegration(readIntegration(reader), await deps.integrationHookUrl(workspaceId)),
      mcpServers: describeMcpServers(reader),
      modelKeys: describeModelKeys(await storedKeys(workspaceId), environment),
      ...(await evals(workspaceId)),
      ...(await authoring(workspaceId)),
    };
  }

  async function changesOf(tx: Tx, workspaceId: string, change: SettingsChange) {
    for (const { headers = {} } of change.mcpServers ?? []) {
      for (const secret of headerSecrets(headers)) deps.redactor.register(secret);
    }
    const stored = change.mcpServers === undefined ? undefined : await findSettings(tx, [workspaceId]);
    const rows = new Map(stored?.get(workspaceId)?.map((row) => [row.name, row]));
    return [
      ...partsOfChange(change),
      ...budgetChanges(change),
      ...integrationChanges(change),
      ...mcpServerChanges((name) => rows.get(name), change),
    ];
  }

  return {
    budgets: async (workspaceId) => readBudgets((await readerOf(workspaceId)).row),
    evals,
    authoring,
    modelKeys: async (workspaceId) => mergeModelKeys(await storedKeys(workspaceId), environment),
    integration: async (workspaceId) => readIntegration(await readerOf(workspaceId)),
    mcpServers,
    describe,
    async change(tx, workspaceId, change) {
      const changed: Changed = { set: [], removed: [] };
      for (const part of await changesOf(tx, workspaceId, change)) {
        if (part.value === null) {
          await removeSetting(tx, workspaceId, part.name);
          changed.removed.push(part.name);
        } else {
          await putSetting(tx, rowOf(deps, workspaceId, part));
          changed.set.push(part.name);
        }
      }
      return changed;
    },
  };
}

function rowOf(
  { clock, redactor, sealer }: Pick<SettingsDeps, "clock" | "redactor" | "sealer">,
  workspaceId: string,
  { name, value, secret }: SettingChange,
): SettingRow {
  const row = { workspace_id: workspaceId, name, updated_at: clock() };
  if (!secret) return { ...row, value: toJson(value), sealed: 0 };
  const text = String(value);
  redactor.register(text);
  return { ...row, value: sealer.seal(text, sealingContext(workspaceId, name)), sealed: 1 };
}

const settingName = (provider: Provider, part: keyof ProviderKeys) => `modelKeys.${provider}.${part}`;

function partsOfChange({ modelKeys = {}, ...plain }: SettingsChange): SettingChange[] {
  const keys = providerNames.flatMap((provider) => {
    const given: { [P in keyof ProviderKeys]?: string | null | undefined } = modelKeys[provider] ?? {};
    return providerParts[provider].flatMap((part) => {
      const value = given[part];
      return value === undefined
        ? []
        : [{ name: settingName(provider, part), value, secret: part === "apiKey" }];
    });
  });
  const others = plainSettings.flatMap((name) => {
    const value = plain[name];
    return value === undefined ? [] : [{ name, value, secret: false }];
  });
  return [...keys, ...others];
}
