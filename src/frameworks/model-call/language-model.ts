import type { LanguageModel } from "ai";
import type { ModelConnection } from "../../models/index.ts";
import { createEchoModel } from "./echo.ts";

/** The interface of a model client in the SDK's current version. */
export type SdkModel = Extract<LanguageModel, { specificationVersion: "v4" }>;

export type SdkCall = Parameters<SdkModel["doGenerate"]>[0];
export type SdkPrompt = SdkCall["prompt"];
type SdkMessage<Role extends SdkPrompt[number]["role"]> = Extract<SdkPrompt[number], { role: Role }>;
export type SdkAssistantPart = SdkMessage<"assistant">["content"][number];
export type SdkToolResult = Extract<SdkMessage<"tool">["content"][number], { type: "tool-result" }>;
export type SdkToolOutput = SdkToolResult["output"];

/**
 * The SDK's own client for a connection. A provider's package is imported when the first of its models is
 * used. Key and address are always passed on, even when empty: left out, the SDK would look for them in the
 * environment.
 */
export async function languageModel(connection: ModelConnection): Promise<SdkModel> {
  const { modelId, provider, protocol } = connection;
  const baseURL = connection.baseUrl ?? "";
  const apiKey = connection.apiKey ?? "";
  switch (protocol) {
    case "offline":
      return createEchoModel(modelId);
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch: fetchWithoutRedirects }).responses(modelId);
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, fetch: fetchWithoutRedirects }).languageModel(modelId);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ apiKey, baseURL, fetch: fetchWithoutRedirects }).languageModel(
        modelId,
      );
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const key = apiKey === "" ? {} : { apiKey };
      return createOpenAICompatible({
        name: provider,
        baseURL,
        fetch: fetchWithoutRedirects,
        ...key,
      }).chatModel(modelId);
    }
  }
}

/** A redirect would carry keys and messages to an address that nobody configured. */
const fetchWithoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
