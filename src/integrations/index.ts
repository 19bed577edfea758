import type { IntegrationProviderName } from "../settings/index.ts";
import { type ComposioDeps, createComposio } from "./composio/index.ts";
import type { IntegrationProvider } from "./ports.ts";

export { answerFor, IntegrationFailure } from "./failure.ts";
export type { IntegrationClient, IntegrationEvent, IntegrationProvider, TriggerType } from "./ports.ts";

export type Integrations = Readonly<Record<IntegrationProviderName, IntegrationProvider>>;

/** Every provider by its name in the settings. Adding one is a folder, a line here and its name there. */
export function createIntegrations(deps: ComposioDeps): Integrations {
  return { composio: createComposio(deps) };
}
