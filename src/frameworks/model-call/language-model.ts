import type { ModelConnection } from "../../models/index.ts";
import { createEchoModel } from "./echo.ts";
import { providerFetch } from "./provider-fetch.ts";
import type { ModelClient } from "./sdk-types.ts";

/**
 * The SDK's own client for a connection. A provider's package is imported when the first of its models is
 * used. Key and address are always passed on, even when empty: left out, the SDK would look for them in the
 * environment.
 */
export async function languageModel(connection: ModelConnection): Promise<ModelClient> {
  const { modelId, provider, protocol } = connection;
  const baseURL = connection.baseUrl ?? "";
  const apiKey = connection.apiKey ?? "";
  switch (protocol) {
    case "offline":
      return createEchoModel(modelId);
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch: providerFetch }).responses(modelId);
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, fetch: providerFetch }).languageModel(modelId);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ apiKey, baseURL, fetch: providerFetch }).languageModel(modelId);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const key = apiKey === "" ? {} : { apiKey };
      return createOpenAICompatible({
        name: provider,
        baseURL,
        fetch: providerFetch,
        // Without it such servers leave the tokens of a stream out.
        includeUsage: true,
        ...key,
      }).chatModel(modelId);
    }
  }
}
