import { type Replayer, reopenDelivery } from "../deliveries/index.ts";
import type { Hook } from "../platform/http/index.ts";
import type { JobKind } from "../platform/jobs/index.ts";
import { githubHook, type ReceiveDeps } from "./receive.ts";
import { deliveryJob, deliveryJobKind, type WorkOffDeps } from "./work-off.ts";

export interface GitHubApp {
  /** None without a webhook secret. */
  hooks: readonly Hook[];
  /** Workers need no secret: what they are given was verified. */
  job: JobKind<ReturnType<typeof deliveryJob>["payload"]>;
  replayer: Replayer;
}

/** The side of the service that GitHub talks to. `secret` is the App's webhook secret, if deliveries are taken. */
export function createGitHubApp(
  deps: Omit<ReceiveDeps, "secret"> & WorkOffDeps & { secret: string | undefined },
): GitHubApp {
  const { secret, queue } = deps;
  return {
    hooks: secret === undefined ? [] : [githubHook({ ...deps, secret })],
    job: deliveryJob(deps),
    async replayer(tx, { id }) {
      await reopenDelivery(tx, id);
      await queue.enqueue(tx, { kind: deliveryJobKind, payload: { deliveryId: id } });
    },
  };
}
