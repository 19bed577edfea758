import type { Unit } from "../platform/db/index.ts";

/** What becomes of a delivery, and what is committed with it. */
export interface Outcome {
  state: "done" | "ignored" | "failed";
  reason: string | null;
  runId?: string;
  unit?: Unit<void>;
}
