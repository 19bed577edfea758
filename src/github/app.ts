import type { Endpoint, Hook } from "../platform/http/index.ts";
import type { JobKind } from "../platform/jobs/index.ts";
import { deliveryEndpoints } from "./endpoints.ts";
import { githubHook, type ReceiveDeps } from "./receive.ts";
import { deliveryJob, type WorkOffDeps } from "./work-off.ts";

export interface GitHubApp {
  endpoints: readonly Endpoint[];
  /** None without a webhook secret. */
  hooks: readonly Hook[];
  /** Workers need no secret: what they are given was verified. */
  job: JobKind<ReturnType<typeof deliveryJob>["payload"]>;
}

/** The side of the service that GitHub talks to. `secret` is the App's webhook secret, if deliveries are taken. */
export function createGitHubApp(
  deps: Omit<ReceiveDeps, "secret"> & WorkOffDeps & { secret: string | undefined },
): GitHubApp {
  const { secret } = deps;
  return {
    endpoints: deliveryEndpoints(deps),
    hooks: secret === undefined ? [] : [githubHook({ ...deps, secret })],
    job: deliveryJob(deps),
  };
}
