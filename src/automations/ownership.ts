import type { OwnedKind } from "../access/index.ts";
import type { Dispatches } from "../dispatches/index.ts";
import type { Clock } from "../platform/clock.ts";
import { createSchedules } from "./cron.ts";
import { settlePending } from "./pending.ts";
import { automationsOf, lockAutomationsOf, updateAutomation } from "./store.ts";

/** Automations as things that members own: paused when their owner goes, or given to another member, for whom they go on. */
export function automationOwnership({
  clock,
  dispatches,
}: {
  clock: Clock;
  dispatches: Pick<Dispatches, "postponed">;
}): OwnedKind {
  const schedules = createSchedules();
  return {
    kind: "automations",
    worksOn: true,

    async ownedBy(q, workspaceId, login) {
      const owned = await automationsOf(q, workspaceId, login);
      return owned.map(({ id, agent, schedule: label, enabled }) => ({
        id,
        agent,
        label,
        enabled: enabled === 1,
      }));
    },

    async release(tx, workspaceId, login, reason) {
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

    async reassign(tx, workspaceId, from, to) {
      const owned = await lockAutomationsOf(tx, workspaceId, from);
      for (const { id } of owned) await updateAutomation(tx, id, { owner: to, updated_at: clock() });
      return owned.map(({ id }) => id);
    },
  };
}
