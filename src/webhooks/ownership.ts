import type { Clock } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/db/index.ts";
import { presentWebhook } from "./present.ts";
import type { Webhook } from "./schema.ts";
import { lockWebhooksOf, updateWebhooks, webhooksOf } from "./store.ts";

/** Webhooks as things that a member owns, for those who remove members. */
export interface WebhookOwnership {
  /** What the member owns, oldest first. */
  ownedBy(q: Queryable, workspaceId: string, login: string): Promise<Webhook[]>;
  /** Disables the member's enabled webhooks, in the caller's transaction. Returns their ids. */
  disableAllOf(tx: Tx, workspaceId: string, login: string): Promise<string[]>;
  /** Gives all of the member's webhooks to another one, whose role the caller has checked. Returns their ids. */
  reassignAll(tx: Tx, workspaceId: string, from: string, to: string): Promise<string[]>;
}

export function createOwnership({ clock, baseUrl }: { clock: Clock; baseUrl: string }): WebhookOwnership {
  return {
    ownedBy: async (q, workspaceId, login) =>
      (await webhooksOf(q, workspaceId, login)).map((row) => presentWebhook(row, baseUrl)),

    async disableAllOf(tx, workspaceId, login) {
      const owned = await lockWebhooksOf(tx, workspaceId, login);
      const ids = owned.filter((row) => row.enabled === 1).map(({ id }) => id);
      await updateWebhooks(tx, ids, { enabled: 0, updated_at: clock() });
      return ids;
    },

    async reassignAll(tx, workspaceId, from, to) {
      const ids = (await lockWebhooksOf(tx, workspaceId, from)).map(({ id }) => id);
      await updateWebhooks(tx, ids, { owner: to, updated_at: clock() });
      return ids;
    },
  };
}
