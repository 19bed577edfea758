import { z } from "zod";
import { Instant, Page } from "../platform/http/index.ts";

export const dispatchKinds = ["schedule", "trigger", "webhook"] as const;
export type DispatchKind = (typeof dispatchKinds)[number];

export const dispatchStates = ["action_needed", "retrying", "recovered"] as const;
export type DispatchState = (typeof dispatchStates)[number];

export const Dispatch = z
  .object({
    id: z.string(),
    kind: z.enum(dispatchKinds),
    ref: z.string().describe("The automation, trigger or webhook whose run could not start."),
    state: z.enum(dispatchStates),
    failedAt: Instant.describe("When its last attempt failed."),
    attempt: z.int().describe("Attempts that failed, one after the other."),
    nextAttemptAt: Instant.optional(),
    summary: z.string(),
    diagnostics: z.string().optional().describe("Technical details, for workspace admins only."),
    recoveredAt: Instant.optional(),
    recoveryRunId: z.string().optional().describe("The first run that could be queued again."),
  })
  .meta({ id: "Dispatch" });
export type Dispatch = z.infer<typeof Dispatch>;

export const ListDispatches = Page.extend({
  state: z.enum(dispatchStates).optional(),
  kind: z.enum(dispatchKinds).optional(),
});
export type ListDispatches = z.infer<typeof ListDispatches>;
