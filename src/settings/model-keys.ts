import type { ApiKeyState, SettingsRecord } from "./schema.ts";

/** What is needed to call a provider. */
export interface ProviderKeys {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
}

/** The parts that each provider can be given. */
export const providerParts = {
  openai: ["apiKey", "baseUrl"],
  anthropic: ["apiKey"],
  google: ["apiKey"],
  "openai-compatible": ["apiKey", "baseUrl"],
  ollama: ["baseUrl"],
} as const satisfies Record<string, readonly (keyof ProviderKeys)[]>;

export type Provider = keyof typeof providerParts;
export type ModelKeys = Record<Provider, ProviderKeys>;

export const providerNames = Object.keys(providerParts) as Provider[];

/** A part as the workspace set it: not at all, with a value, or with one that can no longer be opened. */
export type Stored = { value: string } | { broken: true } | undefined;
export type StoredKeys = Partial<Record<Provider, Partial<Record<keyof ProviderKeys, Stored>>>>;

interface Merged {
  apiKey: Stored;
  apiKeySource: "workspace" | "environment";
  baseUrl: string | undefined;
}

/**
 * What the workspace set, over what the environment gives. A base URL of the workspace never gets the
 * environment's key: a workspace admin could otherwise have that key sent to a server of their own. A key that
 * cannot be opened is no key; the environment's one does not silently take its place.
 */
function merge(stored: StoredKeys[Provider], environment: ProviderKeys | undefined): Merged {
  const ownUrl = stored?.baseUrl && "value" in stored.baseUrl ? stored.baseUrl.value : undefined;
  const fallback = ownUrl === undefined && environment?.apiKey ? { value: environment.apiKey } : undefined;
  return {
    apiKey: stored?.apiKey ?? fallback,
    apiKeySource: stored?.apiKey ? "workspace" : "environment",
    baseUrl: ownUrl ?? environment?.baseUrl,
  };
}

/** The keys that runs use. */
export function mergeModelKeys(
  stored: StoredKeys,
  environment: Readonly<Record<string, ProviderKeys>>,
): ModelKeys {
  const keysOf = (provider: Provider): ProviderKeys => {
    const { apiKey, baseUrl } = merge(stored[provider], environment[provider]);
    return {
      ...(apiKey && "value" in apiKey ? { apiKey: apiKey.value } : {}),
      ...(baseUrl === undefined ? {} : { baseUrl }),
    };
  };
  return {
    openai: keysOf("openai"),
    anthropic: keysOf("anthropic"),
    google: keysOf("google"),
    "openai-compatible": keysOf("openai-compatible"),
    ollama: keysOf("ollama"),
  };
}

/** What admins are told of the keys: whether there are any and from where, never a secret. */
export function describeModelKeys(
  stored: StoredKeys,
  environment: Readonly<Record<string, ProviderKeys>>,
): SettingsRecord["modelKeys"] {
  const apiKeyOf = (provider: Provider): ApiKeyState => {
    const { apiKey, apiKeySource } = merge(stored[provider], environment[provider]);
    return apiKey && "value" in apiKey ? { set: true, source: apiKeySource } : { set: false };
  };
  const baseUrlOf = (provider: Provider): string | null => {
    const { baseUrl } = merge(stored[provider], environment[provider]);
    return baseUrl === undefined ? null : withoutCredentials(baseUrl);
  };
  return {
    openai: { apiKey: apiKeyOf("openai"), baseUrl: baseUrlOf("openai") },
    anthropic: { apiKey: apiKeyOf("anthropic") },
    google: { apiKey: apiKeyOf("google") },
    "openai-compatible": {
      apiKey: apiKeyOf("openai-compatible"),
      baseUrl: baseUrlOf("openai-compatible"),
    },
    ollama: { baseUrl: baseUrlOf("ollama") },
  };
}

/** The environment's addresses may hold a password. */
function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (!url || (url.username === "" && url.password === "")) return text;
  url.username = "";
  url.password = "";
  return url.href.replace(/\/+$/, "");
}
