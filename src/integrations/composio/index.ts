import type { IntegrationProvider } from "../ports.ts";
import { composioAccounts } from "./accounts.ts";
import { parseDelivery } from "./parse-delivery.ts";
import { type ComposioDeps, createComposioRequest } from "./request.ts";
import { composioSubscription } from "./subscription.ts";
import { composioTools } from "./tools.ts";
import { composioTriggers } from "./triggers.ts";
import { verifyDelivery } from "./verify.ts";

export type { ComposioDeps } from "./request.ts";

/** Composio over its REST API, v3.1. */
export function createComposio(deps: ComposioDeps): IntegrationProvider {
  return {
    id: "composio",
    connect(apiKey) {
      const request = createComposioRequest(deps, apiKey);
      return {
        ...composioTools(request),
        ...composioAccounts(request, deps.clock),
        ...composioTriggers(request),
        ...composioSubscription(request),
      };
    },
    verify: verifyDelivery,
    parse: parseDelivery,
  };
}
