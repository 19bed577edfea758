import type { ChatPlatform } from "./platform.ts";
import { createSlack, type SlackDeps } from "./slack/index.ts";

export { ChatFailure } from "./failure.ts";
export type {
  ChatCredentials,
  ChatEvent,
  ChatPlatform,
  ChatRequest,
  ChatTokens,
  Installation,
  IssuedTokens,
  SignedRequest,
} from "./platform.ts";

export const platformNames = ["slack"] as const;
export type PlatformName = (typeof platformNames)[number];
export type ChatPlatforms = Readonly<Record<PlatformName, ChatPlatform>>;

/** Every chat platform. Adding one is a folder, a name and a line here. */
export function createChatPlatforms(deps: SlackDeps): ChatPlatforms {
  return { slack: createSlack(deps) };
}
