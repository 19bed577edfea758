export { createChatApps, forgetOldChats } from "./chat-apps.ts";
export { chatAppOwnership } from "./ownership.ts";
export { followChatRuns } from "./wake.ts";
