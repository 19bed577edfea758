export { webhookOwnership } from "./ownership.ts";
export { createWebhooks } from "./webhooks.ts";
