import type { StatusPost } from "../commit-status/index.ts";
import type { Tx } from "../platform/db/index.ts";
import type { SuiteTexts } from "./store.ts";

/**
 * Told of each suite that ends, once, in the transaction that ends it: what it queues exists exactly when the
 * end does. The suite's row is locked meanwhile. A suite of `prepareAt` that is final from the start is left
 * out, since whoever asked for it knows.
 */
export type SuiteEnded = (tx: Tx, suite: { workspaceId: string; commitSha: string }) => Promise<void>;

/** What commit statuses are asked about: a suite, and the texts that it was made from. */
export interface PostingSuite extends SuiteTexts {
  id: string;
  workspaceId: string;
  commitSha: string;
}

/** What became of the status of the suites' commits, by the ids of the suites; without those that ask for none. */
export type StatusPosts = (suites: readonly PostingSuite[]) => Promise<ReadonlyMap<string, StatusPost>>;
