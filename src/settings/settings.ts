import { z } from "zod";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, fromJson, type Tx, toJson } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import type { Sealer } from "../platform/secrets.ts";
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
import type { SettingsChange, SettingsRecord } from "./schema.ts";
import { createSecretReader, sealingContext } from "./secret-reader.ts";
import { findSettings, putSetting, removeSetting, type SettingRow } from "./store.ts";

/** Names of the settings that a change touched, such as `modelKeys.openai.apiKey`. */
export interface Changed {
  set: string[];
  removed: string[];
}

export interface Settings {
  /** The keys that the workspace's runs use now, over those of the environment. Made for being asked often. */
  modelKeys(workspaceId: string): Promise<ModelKeys>;
  /** What evals go by. */
  evals(workspaceId: string): Promise<EvalSettings>;
  /** What a workspace admin may see: no secret. */
  describe(workspaceId: string): Promise<SettingsRecord>;
  /** Stores what is given, sealing secrets; null removes, what is left out stays. */
  change(tx: Tx, workspaceId: string, change: SettingsChange): Promise<Changed>;
}

/** The plain settings, which are no secrets. Null: not set. */
export type EvalSettings = Omit<SettingsRecord, "modelKeys">;

export interface SettingsDeps {
  db: Database;
  clock: Clock;
  sealer: Sealer;
  redactor: Redactor;
  logger: Logger;
  /** Model keys of the environment, by provider. */
  environment: Readonly<Record<string, ProviderKeys>>;
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

  async function evals(workspaceId: string): Promise<EvalSettings> {
    const rows = new Map((await rowsOf(workspaceId))?.map((row) => [row.name, row]));
    const plain = <S extends z.ZodType>(name: keyof EvalSettings, schema: S) => {
      const row = rows.get(name);
      return row ? fromJson(schema, row.value) : null;
    };
    return {
      judgeModel: plain("judgeModel", z.string()),
      evalOwner: plain("evalOwner", z.string()),
      postStatus: plain("postStatus", z.boolean()) ?? true,
      evalCache: plain("evalCache", z.boolean()) ?? true,
    };
  }

  return {
    evals,
    modelKeys: async (workspaceId) => mergeModelKeys(await storedKeys(workspaceId), environment),
    describe: async (workspaceId) => ({
      modelKeys: describeModelKeys(await storedKeys(workspaceId), environment),
      ...(await evals(workspaceId)),
    }),
    async change(tx, workspaceId, change) {
      const changed: Changed = { set: [], removed: [] };
      for (const part of partsOfChange(change)) {
        if (part.value === null) {
          await removeSetting(tx, workspaceId, part.name);
          changed.removed.push(part.name);
        } else {
          await putSetting(tx, rowOf(deps, workspaceId, { ...part, value: part.value }));
          changed.set.push(part.name);
        }
      }
      return changed;
    },
  };
}

/** What a setting is changed to; null removes it. */
interface ChangedPart {
  name: string;
  value: string | boolean | null;
  secret: boolean;
}

function rowOf(
  { clock, redactor, sealer }: Pick<SettingsDeps, "clock" | "redactor" | "sealer">,
  workspaceId: string,
  { name, value, secret }: ChangedPart & { value: string | boolean },
): SettingRow {
  const row = { workspace_id: workspaceId, name, updated_at: clock() };
  if (!secret) return { ...row, value: toJson(value), sealed: 0 };
  const text = String(value);
  redactor.register(text);
  return { ...row, value: sealer.seal(text, sealingContext(workspaceId, name)), sealed: 1 };
}

const settingName = (provider: Provider, part: keyof ProviderKeys) => `modelKeys.${provider}.${part}`;

function partsOfChange({ modelKeys = {}, ...plain }: SettingsChange): ChangedPart[] {
  const keys = providerNames.flatMap((provider) => {
    const given: { [P in keyof ProviderKeys]?: string | null | undefined } = modelKeys[provider] ?? {};
    return providerParts[provider].flatMap((part) => {
      const value = given[part];
      return value === undefined
        ? []
        : [{ name: settingName(provider, part), value, secret: part === "apiKey" }];
    });
  });
  const others = Object.entries(plain).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value, secret: false }],
  );
  return [...keys, ...others];
}
