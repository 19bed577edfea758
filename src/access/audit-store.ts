import { alongIndex, type Queryable, type Rows } from "../platform/db/index.ts";

/** The table is only ever added to: nothing here updates or deletes, and nothing else names it. */
export interface AuditRow {
  id: string;
  workspace_id: string;
  /** Epoch milliseconds. */
  at: number;
  actor: string;
  via: "api" | "cli" | "system";
  action: string;
  target: string;
  /** JSON. */
  details: string | null;
  request_id: string | null;
}

/** The entry as a row for the commit of what it tells of. */
export function auditInsert(row: AuditRow): Rows[number] {
  return { table: "audit_log", row: { ...row } };
}

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  /** Only entries older than the one with this id. */
  before?: string | undefined;
  limit: number;
}

/** Entries of a workspace, newest first. */
export async function listAudit(q: Queryable, workspaceId: string, filter: AuditFilter): Promise<AuditRow[]> {
  const query = alongIndex(q, "audit_log", "audit_log_list")
    .where({ workspace_id: workspaceId })
    .orderBy("id", "desc")
    .limit(filter.limit);
  if (filter.actor !== undefined) query.where({ actor: filter.actor });
  if (filter.action !== undefined) query.where({ action: filter.action });
  if (filter.before !== undefined) query.where("id", "<", filter.before);
  return query;
}
