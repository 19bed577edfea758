export { webhookOwnership } from "./ownership.ts";
export { createWebhooks, type Webhooks } from "./webhooks.ts";
