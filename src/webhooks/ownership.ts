import type { OwnedKind } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { lockWebhooksOf, updateWebhooks, webhooksOf } from "./store.ts";

/** Webhooks as things that members own: disabled when their owner goes, or given to another member, for whom they work on. */
export function webhookOwnership({ clock }: { clock: Clock }): OwnedKind {
  return {
    kind: "webhooks",
    worksOn: true,

    async ownedBy(q, workspaceId, login) {
      const owned = await webhooksOf(q, workspaceId, login);
      return owned.map(({ id, agent, name: label, enabled }) => ({
        id,
        agent,
        label,
        enabled: enabled === 1,
      }));
    },

    async release(tx, workspaceId, login) {
      const owned = await lockWebhooksOf(tx, workspaceId, login);
      const ids = owned.filter((row) => row.enabled === 1).map(({ id }) => id);
      await updateWebhooks(tx, ids, { enabled: 0, updated_at: clock() });
      return ids;
    },

    async reassign(tx, workspaceId, from, to) {
      const ids = (await lockWebhooksOf(tx, workspaceId, from)).map(({ id }) => id);
      await updateWebhooks(tx, ids, { owner: to, updated_at: clock() });
      return ids;
    },
  };
}
