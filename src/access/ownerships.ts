import type { Queryable, Tx } from "../platform/db/index.ts";
import type { Owned } from "./schema.ts";

/** A kind of things that act in a member's name. Features that have owners provide one; `app.ts` puts them together. */
export interface OwnedKind {
  /** Its name in answers, such as `automations`. */
  kind: string;
  /** False: what is handed over is disabled, because it works with something personal. */
  worksOn: boolean;
  /** What the login owns, also when it is no member any more. */
  ownedBy(q: Queryable, workspaceId: string, login: string): Promise<Owned[]>;
  /** Stops what the member owns, in the caller's transaction. `reason` is for people. Returns the ids of what was stopped. */
  release(tx: Tx, workspaceId: string, login: string, reason: string): Promise<string[]>;
  /** Gives everything of one login to a member, whose role the caller has checked. Returns the ids. */
  reassign(tx: Tx, workspaceId: string, from: string, to: string): Promise<string[]>;
}
