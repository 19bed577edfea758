import type { Replayer } from "../deliveries/index.ts";
import type { Endpoint, Hook, RateLimit } from "../platform/http/index.ts";
import { createLastUse } from "../platform/last-use.ts";
import type { Logger } from "../platform/logger.ts";
import type { Runs } from "../runs/index.ts";
import { webhookEndpoints } from "./endpoints.ts";
import { createManagement, type ManageDeps } from "./manage.ts";
import { webhookHook } from "./receive.ts";
import { webhookReplayer } from "./replay.ts";
import { createStartRun, type StartDeps } from "./start-run.ts";
import { setLastCalled } from "./store.ts";

export interface WebhooksDeps extends Omit<StartDeps, "members">, Omit<ManageDeps, "dispatches" | "members"> {
  members: StartDeps["members"] & ManageDeps["members"];
  dispatches: StartDeps["dispatches"] & ManageDeps["dispatches"];
  agents: StartDeps["agents"] & ManageDeps["agents"];
  runs: StartDeps["runs"] & Pick<Runs, "find">;
  logger: Logger;
  /** Counts the calls of each webhook. */
  rateLimit: RateLimit;
}

export interface Webhooks {
  endpoints: readonly Endpoint[];
  hook: Hook;
  replayer: Replayer;
  /** Writes what is still to be written. Call it when requests have ended and before the database is closed. */
  stop(): Promise<void>;
}

/** Addresses with a token of their own that outside systems start an agent with. */
export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const lastCall = createLastUse({ ...deps, write: setLastCalled });
  const startRun = createStartRun(deps);
  return {
    endpoints: webhookEndpoints(createManagement(deps)),
    hook: webhookHook({ ...deps, startRun, lastCall }),
    replayer: webhookReplayer({ ...deps, startRun }),
    stop: lastCall.flush,
  };
}
