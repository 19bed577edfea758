import type { Queryable, Tx } from "../platform/db/index.ts";

export interface DocumentKey {
  workspaceId: string;
  /** What it is, such as `composio.tools`. */
  kind: string;
  /** Which one of that kind. */
  name: string;
}

/** A document without its content. Instants are epoch milliseconds. */
export interface DocumentRow {
  workspace_id: string;
  kind: string;
  name: string;
  origin: string;
  content_sha: string | null;
  fetched_at: number | null;
  refresh_at: number;
  failure: string | null;
}

const where = ({ workspaceId, kind, name }: DocumentKey) => ({ workspace_id: workspaceId, kind, name });

/** Rows by workspace and kind together; callers pick the names they asked for. */
export async function findDocuments(q: Queryable, keys: readonly DocumentKey[]): Promise<DocumentRow[]> {
  return q("provider_documents")
    .whereIn("workspace_id", [...new Set(keys.map((key) => key.workspaceId))])
    .whereIn("kind", [...new Set(keys.map((key) => key.kind))])
    .whereIn("name", [...new Set(keys.map((key) => key.name))])
    .select("workspace_id", "kind", "name", "origin", "content_sha", "fetched_at", "refresh_at", "failure");
}

/** The content as it is now, with its hash; undefined when it was never read. */
export async function findContent(
  q: Queryable,
  key: DocumentKey,
): Promise<{ content: string; content_sha: string } | undefined> {
  return q("provider_documents").where(where(key)).whereNotNull("content").first("content", "content_sha");
}

/** Adds an empty document unless there is one. */
export async function addDocument(tx: Tx, key: DocumentKey, origin: string): Promise<void> {
  await tx("provider_documents")
    .insert({ ...where(key), origin, refresh_at: 0 })
    .onConflict(["workspace_id", "kind", "name"])
    .ignore();
}

/**
 * Claims the reading of a document until `until`, if nobody has touched it since it had these values; says
 * whether it could be claimed. What was read with another origin is dropped.
 */
export async function claimDocument(
  tx: Tx,
  key: DocumentKey,
  seen: Pick<DocumentRow, "origin" | "refresh_at">,
  origin: string,
  until: number,
): Promise<boolean> {
  const fresh = seen.origin === origin ? {} : { content: null, content_sha: null, fetched_at: null };
  const claimed = await tx("provider_documents")
    .where({ ...where(key), origin: seen.origin, refresh_at: seen.refresh_at })
    .update({ ...fresh, origin, refresh_at: until, failure: null });
  return claimed === 1;
}

/** Stores what was read, or why it could not be, under the claim that ends at `claimedUntil`. */
export async function settleDocument(
  tx: Tx,
  key: DocumentKey,
  claim: { origin: string; until: number },
  outcome:
    | { content: string; content_sha: string; fetched_at: number; refresh_at: number; failure: null }
    | { failure: string; refresh_at: number },
): Promise<void> {
  await tx("provider_documents")
    .where({ ...where(key), origin: claim.origin, refresh_at: claim.until })
    .update(outcome);
}

/** Has a document read anew by whoever asks next; what it says is served until then. */
export async function expireDocument(tx: Tx, key: DocumentKey, now: number): Promise<void> {
  await tx("provider_documents").where(where(key)).update({ refresh_at: now, failure: null });
}

/** Removes documents that nobody has asked for since `before`. */
export async function forgetDocuments(tx: Tx, before: number): Promise<void> {
  await tx("provider_documents").where("refresh_at", "<", before).delete();
}
