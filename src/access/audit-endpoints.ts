import { z } from "zod";
import type { Database } from "../platform/db/index.ts";
import { defineEndpoint, type Endpoint, line, Page, toPage } from "../platform/http/index.ts";
import type { Audit } from "./audit.ts";
import { AuditRecord } from "./schema.ts";

/** `GET /audit-log`: who changed what; for workspace admins. */
export function auditEndpoints({ db, audit }: { db: Database; audit: Audit }): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/audit-log",
      id: "listAuditLog",
      tag: "Audit log",
      role: "workspace_admin",
      summary: "Every write of the workspace, newest first.",
      query: Page.extend({
        actor: line(191)
          .describe("Only what this login, `rollcall:cli` or `rollcall:system` did.")
          .optional(),
        action: line(191).describe("Only this action, such as `addMember`.").optional(),
      }),
      status: 200,
      response: z.strictObject({ entries: z.array(AuditRecord), nextBefore: z.string().nullable() }),
      async handle({ actor, query }) {
        const filter = { ...query, limit: query.limit + 1 };
        const records = await audit.list(db.read, actor.workspaceId, filter);
        const { page, nextBefore } = toPage(records, query.limit);
        return { entries: page, nextBefore };
      },
    }),
  ];
}
