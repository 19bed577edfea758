import type { OwnedKind } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import { chatAppsOf, lockChatAppsOf, updateChatApps } from "./store.ts";

/** Chat apps as things that members own: disabled when their owner goes, or given to another member, for whom they work on. */
export function chatAppOwnership({ clock }: { clock: Clock }): OwnedKind {
  return {
    kind: "chatApps",
    worksOn: true,

    async ownedBy(q, workspaceId, login) {
      const owned = await chatAppsOf(q, workspaceId, login);
      return owned.map(({ id, default_agent: agent, name: label, enabled }) => ({
        ...{ id, agent, label },
        enabled: enabled === 1,
      }));
    },

    async release(tx, workspaceId, login) {
      const owned = await lockChatAppsOf(tx, workspaceId, login);
      const ids = owned.filter((row) => row.enabled === 1).map(({ id }) => id);
      await updateChatApps(tx, ids, { enabled: 0, updated_at: clock() });
      return ids;
    },

    async reassign(tx, workspaceId, from, to) {
      const ids = (await lockChatAppsOf(tx, workspaceId, from)).map(({ id }) => id);
      await updateChatApps(tx, ids, { owner: to, updated_at: clock() });
      return ids;
    },
  };
}
