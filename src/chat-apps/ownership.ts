import type { Clock } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/db/index.ts";
import { presentChatApp } from "./present.ts";
import type { ChatApp } from "./schema.ts";
import type { ChatSecrets } from "./sealing.ts";
import { chatAppsOf, lockChatAppsOf, updateChatApps } from "./store.ts";

/** Chat apps as things that a member owns, for those who remove members. */
export interface ChatAppOwnership {
  /** What the member owns, oldest first. */
  ownedBy(q: Queryable, workspaceId: string, login: string): Promise<ChatApp[]>;
  /** Disables the member's enabled chat apps, in the caller's transaction. Returns their ids. */
  disableAllOf(tx: Tx, workspaceId: string, login: string): Promise<string[]>;
  /** Gives all of the member's chat apps to another one, whose role the caller has checked. Returns their ids. */
  reassignAll(tx: Tx, workspaceId: string, from: string, to: string): Promise<string[]>;
}

export function createOwnership({
  clock,
  secrets,
  baseUrl,
}: {
  clock: Clock;
  secrets: ChatSecrets;
  baseUrl: string;
}): ChatAppOwnership {
  return {
    ownedBy: async (q, workspaceId, login) =>
      (await chatAppsOf(q, workspaceId, login)).map((row) => presentChatApp(row, secrets, baseUrl)),

    async disableAllOf(tx, workspaceId, login) {
      const owned = await lockChatAppsOf(tx, workspaceId, login);
      const ids = owned.filter((row) => row.enabled === 1).map(({ id }) => id);
      await updateChatApps(tx, ids, { enabled: 0, updated_at: clock() });
      return ids;
    },

    async reassignAll(tx, workspaceId, from, to) {
      const ids = (await lockChatAppsOf(tx, workspaceId, from)).map(({ id }) => id);
      await updateChatApps(tx, ids, { owner: to, updated_at: clock() });
      return ids;
    },
  };
}
