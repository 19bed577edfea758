import type { Clock } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/db/index.ts";
import { disableFor } from "./disable.ts";
import { presentTrigger } from "./present.ts";
import type { Trigger } from "./schema.ts";
import { lockTriggersOf, triggersOf } from "./store.ts";
import type { RequestSync } from "./subscription-job.ts";

/** Triggers as things that a member owns, for those who remove members. */
export interface TriggerOwnership {
  /** What the member owns, oldest first. */
  ownedBy(q: Queryable, workspaceId: string, login: string): Promise<Trigger[]>;
  /** Disables the member's enabled triggers, in the caller's transaction. Returns their ids. */
  disableAllOf(tx: Tx, workspaceId: string, login: string, reason: string): Promise<string[]>;
  /**
   * Gives all of the member's triggers to another one, whose role the caller has checked. They are disabled until the
   * new owner chooses a connection of their own. Returns their ids.
   */
  reassignAll(tx: Tx, workspaceId: string, from: string, to: string): Promise<string[]>;
}

export function createOwnership(deps: { clock: Clock; requestSync: RequestSync }): TriggerOwnership {
  return {
    ownedBy: async (q, workspaceId, login) => (await triggersOf(q, workspaceId, login)).map(presentTrigger),

    async disableAllOf(tx, workspaceId, login, reason) {
      const enabled = (await lockTriggersOf(tx, workspaceId, login)).filter((row) => row.enabled === 1);
      for (const row of enabled) await disableFor(tx, deps, row, reason);
      return enabled.map(({ id }) => id);
    },

    async reassignAll(tx, workspaceId, from, to) {
      const owned = await lockTriggersOf(tx, workspaceId, from);
      const reason = `It belonged to ${from}; choose a connection of ${to} for it, then enable it.`;
      for (const row of owned) await disableFor(tx, deps, row, reason, { owner: to });
      return owned.map(({ id }) => id);
    },
  };
}
