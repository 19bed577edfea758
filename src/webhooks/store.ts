import { z } from "zod";
import { fromJson, type Queryable, type Tx } from "../platform/db/index.ts";

/** A row of `webhooks`. */
export interface WebhookRow {
  id: string;
  workspace_id: string;
  agent: string;
  name: string;
  owner: string;
  enabled: number;
  /** SHA-256 of the bearer token. */
  token_hash: string;
  /** Sealed; null when calls need no signature. */
  signing_secret: string | null;
  /** JSON of slugs; null for all of the agent's. */
  tools: string | null;
  /** 1 while a failure of it is open in the dispatch history. */
  failing: number;
  last_called_at: number | null;
  created_at: number;
  updated_at: number;
}

const Slugs = z.array(z.string());

/** The tools that its runs are held to; undefined for all of the agent's. */
export const toolsOf = ({ tools }: Pick<WebhookRow, "tools">): string[] | undefined =>
  tools === null ? undefined : fromJson(Slugs, tools);

export async function insertWebhook(tx: Tx, row: WebhookRow): Promise<void> {
  await tx("webhooks").insert(row);
}

/** Webhooks of any workspace by their ids, as calls name them. */
export async function findCalled(q: Queryable, ids: readonly string[]): Promise<Map<string, WebhookRow>> {
  const rows: WebhookRow[] = await q("webhooks").whereIn("id", ids);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function findWebhook(
  q: Queryable,
  workspaceId: string,
  id: string,
): Promise<WebhookRow | undefined> {
  return q("webhooks").where({ id, workspace_id: workspaceId }).first();
}

/** The webhook, locked until the transaction ends. */
export async function lockWebhook(tx: Tx, workspaceId: string, id: string): Promise<WebhookRow | undefined> {
  return tx("webhooks").where({ id, workspace_id: workspaceId }).forUpdate().first();
}

/** Newest first, one more than the limit when there are more; `before` is an id. */
export async function listWebhooks(
  q: Queryable,
  workspaceId: string,
  agent: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<WebhookRow[]> {
  const query = q("webhooks")
    .where({ workspace_id: workspaceId, agent })
    .orderBy("id", "desc")
    .limit(limit + 1);
  return before === undefined ? query : query.where("id", "<", before);
}

/** All webhooks of a member, oldest first. */
export async function webhooksOf(q: Queryable, workspaceId: string, owner: string): Promise<WebhookRow[]> {
  return q("webhooks").where({ workspace_id: workspaceId, owner }).orderBy("id");
}

/** The same, locked until the transaction ends. */
export async function lockWebhooksOf(tx: Tx, workspaceId: string, owner: string): Promise<WebhookRow[]> {
  return tx("webhooks").where({ workspace_id: workspaceId, owner }).orderBy("id").forUpdate();
}

export async function updateWebhooks(
  tx: Tx,
  ids: readonly string[],
  change: Partial<WebhookRow>,
): Promise<void> {
  await tx("webhooks").whereIn("id", ids).update(change);
}

export async function setLastCalled(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  await tx("webhooks").whereIn("id", ids).update({ last_called_at: now });
}

/** Notes whether a failure of the webhook is open. False: it does not exist any more. */
export async function setFailing(tx: Tx, id: string, failing: 0 | 1): Promise<boolean> {
  return (await tx("webhooks").where({ id }).update({ failing })) === 1;
}

export async function deleteWebhook(tx: Tx, id: string): Promise<void> {
  await tx("webhooks").where({ id }).delete();
}
