import type { LanguageModel } from "ai";

/** The interface of a model client in the SDK's current version. */
export type SdkModel = Extract<LanguageModel, { specificationVersion: "v4" }>;

/** What is used of a client: answers are read as streams only. */
export type ModelClient = Pick<SdkModel, "provider" | "modelId" | "supportedUrls" | "doStream">;

export type SdkCall = Parameters<SdkModel["doGenerate"]>[0];
export type SdkPrompt = SdkCall["prompt"];
type SdkMessage<Role extends SdkPrompt[number]["role"]> = Extract<SdkPrompt[number], { role: Role }>;
export type SdkAssistantPart = SdkMessage<"assistant">["content"][number];
export type SdkToolResult = Extract<SdkMessage<"tool">["content"][number], { type: "tool-result" }>;
export type SdkToolOutput = SdkToolResult["output"];
