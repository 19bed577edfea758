export { type ChatApps, createChatApps, forgetOldChats } from "./chat-apps.ts";
export { followChatRuns } from "./wake.ts";
