export { createGitHubApp } from "./app.ts";
export { forgetOldDeliveries } from "./store.ts";
