export type { BudgetSettings } from "./budget-settings.ts";
export { settingsEndpoints } from "./endpoints.ts";
export type { IntegrationProviderName } from "./schema.ts";
export { createSettings, type Settings, type SettingsDeps } from "./settings.ts";
export type { IntegrationSettings, McpServer } from "./tool-settings.ts";
