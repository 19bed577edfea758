export { type CommitStatuses, type CommitStatusesDeps, createCommitStatuses } from "./commit-statuses.ts";
export type { IsHead, StatusPost, WantedStatus } from "./ports.ts";
