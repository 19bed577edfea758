import { z } from "zod";
import { type Clock, toInstant } from "../platform/clock.ts";
import { fromJson, type Queryable, type Rows, toJson } from "../platform/db/index.ts";
import type { AuditEntry } from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { Redactor } from "../platform/redact.ts";
import { type AuditFilter, type AuditRow, auditInsert, listAudit } from "./audit-store.ts";
import type { AuditRecord } from "./schema.ts";

/** A write that no member made through the API. */
export interface SystemAuditEntry {
  workspaceId: string;
  /** `cli`: someone with a shell on the machine; `system`: the service by itself. */
  via: "cli" | "system";
  action: string;
  target: string;
  details?: Record<string, unknown>;
}

export interface Audit {
  /** The row of an API write. Insert it in the transaction of the write itself. */
  auditRow(entry: AuditEntry): Rows[number];
  /** The row of any other write. Its actor is `rollcall:cli` or `rollcall:system`, which no login can be. */
  systemAuditRow(entry: SystemAuditEntry): Rows[number];
  /** Newest first. */
  list(q: Queryable, workspaceId: string, filter: AuditFilter): Promise<AuditRecord[]>;
}

const maxDetailBytes = 8 * 1024;
const columnLengths = { actor: 191, action: 191, target: 255, requestId: 191 };

export function createAudit({ ids, clock, redactor }: { ids: Ids; clock: Clock; redactor: Redactor }): Audit {
  const insert = (row: Omit<AuditRow, "id" | "at">) =>
    auditInsert({
      ...row,
      id: ids("aud"),
      at: clock(),
      actor: cut(row.actor, columnLengths.actor),
      action: cut(row.action, columnLengths.action),
      target: cut(row.target, columnLengths.target),
      details: row.details === null ? null : redactor.scrub(row.details),
    });

  return {
    auditRow: ({ actor, action, target, details, requestId }) =>
      insert({
        workspace_id: actor.workspaceId,
        actor: actor.login,
        via: "api",
        action,
        target,
        details: boundedJson(details),
        request_id: cut(requestId, columnLengths.requestId),
      }),
    systemAuditRow: ({ workspaceId, via, action, target, details }) =>
      insert({
        workspace_id: workspaceId,
        actor: `rollcall:${via}`,
        via,
        action,
        target,
        details: boundedJson(details),
        request_id: null,
      }),
    list: async (q, workspaceId, filter) => (await listAudit(q, workspaceId, filter)).map(toRecord),
  };
}

const cut = (value: string, length: number) => value.slice(0, length);

/** Details that are too long are replaced by the names of their fields, so that the entry itself is never refused. */
function boundedJson(details: Record<string, unknown> | undefined): string | null {
  if (details === undefined) return null;
  const json = toJson(details);
  if (Buffer.byteLength(json) <= maxDetailBytes) return json;
  const fields = Object.keys(details)
    .slice(0, 20)
    .map((name) => cut(name, 64));
  return toJson({ omitted: "Longer than 8 KB.", fields });
}

function toRecord(row: AuditRow): AuditRecord {
  return {
    id: row.id,
    at: toInstant(row.at),
    actor: row.actor,
    via: row.via,
    action: row.action,
    target: row.target,
    details: row.details === null ? null : fromJson(z.record(z.string(), z.unknown()), row.details),
    requestId: row.request_id,
  };
}
