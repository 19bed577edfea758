import type { OwnedKind } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { JobQueue } from "../platform/jobs/index.ts";
import { disableFor } from "./disable.ts";
import { lockTriggersOf, triggersOf } from "./store.ts";
import { createRequestSync } from "./subscription-job.ts";

/**
 * Triggers as things that members own: disabled when their owner goes. Given to another member they are disabled, too,
 * until the new owner chooses a connection of their own.
 */
export function triggerOwnership({ clock, queue }: { clock: Clock; queue: JobQueue }): OwnedKind {
  const deps = { clock, requestSync: createRequestSync(queue) };
  return {
    kind: "triggers",
    worksOn: false,

    async ownedBy(q, workspaceId, login) {
      const owned = await triggersOf(q, workspaceId, login);
      return owned.map(({ id, agent, slug: label, enabled }) => ({
        id,
        agent,
        label,
        enabled: enabled === 1,
      }));
    },

    async release(tx, workspaceId, login, reason) {
      const enabled = (await lockTriggersOf(tx, workspaceId, login)).filter((row) => row.enabled === 1);
      for (const row of enabled) await disableFor(tx, deps, row, reason);
      return enabled.map(({ id }) => id);
    },

    async reassign(tx, workspaceId, from, to) {
      const owned = await lockTriggersOf(tx, workspaceId, from);
      const reason = `It belonged to ${from}; choose a connection of ${to} for it, then enable it.`;
      for (const row of owned) await disableFor(tx, deps, row, reason, { owner: to });
      return owned.map(({ id }) => id);
    },
  };
}
