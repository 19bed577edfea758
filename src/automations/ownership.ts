import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/db/index.ts";
import type { Schedules } from "./cron.ts";
import { settlePending } from "./pending.ts";
import { presentAutomation } from "./present.ts";
import type { Automation } from "./schema.ts";
import { automationsOf, lockAutomationsOf, updateAutomation } from "./store.ts";

/** Automations as things that a member owns, for those who remove members. */
export interface AutomationOwnership {
  /** What the member owns, oldest first. */
  ownedBy(q: Queryable, workspaceId: string, login: string): Promise<Automation[]>;
  /** Pauses the member's enabled automations, in the caller's transaction. Returns their ids. */
  pauseAllOf(tx: Tx, workspaceId: string, login: string, reason: string): Promise<string[]>;
  /** Gives all of the member's automations to another one, whose role the caller has checked. Returns their ids. */
  reassignAll(tx: Tx, workspaceId: string, from: string, to: string): Promise<string[]>;
}

export interface OwnershipDeps {
  clock: Clock;
  schedules: Schedules;
  dispatches: Dispatches;
}

export function createOwnership({ clock, schedules, dispatches }: OwnershipDeps): AutomationOwnership {
  return {
    ownedBy: async (q, workspaceId, login) =>
      (await automationsOf(q, workspaceId, login)).map(presentAutomation),

    async pauseAllOf(tx, workspaceId, login, reason) {
      const now = clock();
      const owned = await lockAutomationsOf(tx, workspaceId, login);
      const running = owned.filter((row) => row.enabled === 1 && row.paused_reason === null);
      for (const row of running) {
        await settlePending(tx, schedules, row, { outcome: "blocked", reason, now });
        if (row.attempts > 0)
          await dispatches.postponed(tx, { workspaceId, kind: "schedule", ref: row.id }, null);
        const halted = { next_run_at: null, due_at: null, waiting_reason: null, attempts: 0 };
        await updateAutomation(tx, row.id, { ...halted, paused_reason: reason, updated_at: now });
      }
      return running.map(({ id }) => id);
    },

    async reassignAll(tx, workspaceId, from, to) {
      const owned = await lockAutomationsOf(tx, workspaceId, from);
      for (const { id } of owned) await updateAutomation(tx, id, { owner: to, updated_at: clock() });
      return owned.map(({ id }) => id);
    },
  };
}
