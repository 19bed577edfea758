import type { JobRequest } from "../platform/jobs/index.ts";
import type { RunRow } from "./store.ts";

/**
 * What a feature that started runs wants to have done after each of them. The jobs are queued in the transaction
 * that stores the run's end, however it ends, so that no end goes unnoticed and none is told twice.
 */
export type FollowUps = (run: Pick<RunRow, "id" | "trigger">) => readonly JobRequest[];
