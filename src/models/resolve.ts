import type { ModelProvider, ProviderKey } from "./providers/provider.ts";
import { type ModelKeys, type ProviderId, providers } from "./registry.ts";
import type { ModelConnection } from "./types.ts";

/** A model that can be called, or one sentence on what to set before it can be. */
export type ResolvedModel = { ok: true; model: ModelConnection } | { ok: false; reason: string };

/**
 * Finds out how to call the model that a spec names, for example `openai/gpt-5-mini`.
 * Never throws and never falls back to another model: what is unknown or not configured is `ok: false`.
 */
export function resolveModel(ref: string, keys: ModelKeys): ResolvedModel {
  const slash = ref.indexOf("/");
  const id = ref.slice(0, slash);
  const modelId = ref.slice(slash + 1);
  if (slash < 1 || modelId === "") {
    return {
      ok: false,
      reason: `Write the model as provider/model, for example openai/gpt-5-mini, instead of "${ref}".`,
    };
  }
  if (!isProviderId(id)) {
    return {
      ok: false,
      reason: `There is no provider "${id}"; use one of ${Object.keys(providers).join(", ")}.`,
    };
  }
  const provider: ModelProvider = providers[id];
  if (provider.models && !provider.models.includes(modelId)) {
    const known = provider.models.map((name) => `${id}/${name}`).join(", ");
    return { ok: false, reason: `There is no model "${ref}"; use ${known}.` };
  }
  const key = keyOf(id, keys);
  if (!isConfigured(provider, key)) return { ok: false, reason: provider.hint };
  const baseUrl = baseUrlOf(provider, key);
  if (baseUrl !== undefined && !isHttpUrl(baseUrl)) {
    return {
      ok: false,
      reason: `The base URL of ${id} has to be an http or https address. ${provider.hint}`,
    };
  }
  const apiKey = key.apiKey?.trim();
  return {
    ok: true,
    model: {
      ref,
      provider: id,
      modelId,
      protocol: provider.protocol,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(apiKey ? { apiKey } : {}),
    },
  };
}

/** Which providers can be used, in the order of the registry; `hint` says in a sentence how to configure one. */
export function configuredProviders(
  keys: ModelKeys,
): { provider: string; configured: boolean; hint: string }[] {
  return providerIds().map((id) => ({
    provider: id,
    configured: isConfigured(providers[id], keyOf(id, keys)),
    hint: providers[id].hint,
  }));
}

function providerIds(): ProviderId[] {
  return Object.keys(providers).filter(isProviderId);
}

function isProviderId(id: string): id is ProviderId {
  return Object.hasOwn(providers, id);
}

function keyOf(id: ProviderId, keys: ModelKeys): ProviderKey {
  return id === "offline" ? {} : (keys[id] ?? {});
}

function isConfigured(provider: ModelProvider, key: ProviderKey): boolean {
  return provider.requires === "nothing" || Boolean(key[provider.requires]?.trim());
}

function baseUrlOf(provider: ModelProvider, key: ProviderKey): string | undefined {
  const baseUrl = (key.baseUrl?.trim() || provider.defaultBaseUrl)?.replace(/\/+$/, "");
  if (baseUrl === undefined || provider.basePath === undefined || baseUrl.endsWith(provider.basePath))
    return baseUrl;
  return baseUrl + provider.basePath;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
}
