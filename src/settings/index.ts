export { settingsEndpoints } from "./endpoints.ts";
export type { ModelKeys } from "./model-keys.ts";
export { createSettings, type Settings, type SettingsDeps } from "./settings.ts";
