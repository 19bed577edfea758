import type { Connections } from "../connections/index.ts";
import type { Replayer } from "../deliveries/index.ts";
import type { Endpoint, Hook } from "../platform/http/index.ts";
import type { JobKind, JobQueue } from "../platform/jobs/index.ts";
import { createLastUse } from "../platform/last-use.ts";
import { type DispatchJobDeps, dispatchJob } from "./dispatch-job.ts";
import { triggerEndpoints } from "./endpoints.ts";
import { createManagement, type ManageDeps } from "./manage.ts";
import { createProviderOf } from "./provider.ts";
import { integrationHook } from "./receive.ts";
import { triggerReplayer } from "./replay.ts";
import { setLastEvent } from "./store.ts";
import { createRequestSync, subscriptionJob } from "./subscription-job.ts";
import { createTriggerTypes, type TriggerTypesDeps } from "./trigger-types.ts";

/** Made here of the others. */
type Inner = "providerOf" | "requestSync" | "lastEvent";

export interface TriggersDeps
  extends Omit<DispatchJobDeps, Inner | keyof ManageDeps | "connections">,
    Omit<ManageDeps, Inner | "agents" | "dispatches" | "members"> {
  members: DispatchJobDeps["members"] & ManageDeps["members"];
  agents: DispatchJobDeps["agents"] & ManageDeps["agents"];
  dispatches: DispatchJobDeps["dispatches"] & ManageDeps["dispatches"];
  connections: Pick<Connections, "missing" | "changed" | "connections">;
  cache: TriggerTypesDeps["cache"];
  queue: JobQueue;
}

export interface Triggers {
  endpoints: readonly Endpoint[];
  hook: Hook;
  jobs: {
    dispatch: JobKind<ReturnType<typeof dispatchJob>["payload"]>;
    subscription: JobKind<ReturnType<typeof subscriptionJob>["payload"]>;
  };
  replayer: Replayer;
  /** Writes what is still to be written. Call it when the worker has stopped and before the database is closed. */
  stop(): Promise<void>;
}

/** Events of outside systems that start runs of an agent. */
export function createTriggers(outer: TriggersDeps): Triggers {
  const lastEvent = createLastUse({ ...outer, write: setLastEvent });
  const inner = {
    providerOf: createProviderOf(outer),
    requestSync: createRequestSync(outer.queue),
    lastEvent,
  };
  const deps = { ...outer, ...inner };
  return {
    endpoints: triggerEndpoints(createManagement(deps), createTriggerTypes(deps)),
    hook: integrationHook(deps),
    jobs: { dispatch: dispatchJob(deps), subscription: subscriptionJob(deps) },
    replayer: triggerReplayer(deps),
    stop: lastEvent.flush,
  };
}
