import { z } from "zod";
import { toInstant } from "../platform/clock.ts";
import type { Database } from "../platform/db/index.ts";
import { notFound } from "../platform/errors.ts";
import { defineEndpoint, type Endpoint, Instant } from "../platform/http/index.ts";
import type { DescribeRepository } from "./ports.ts";
import { findWorkspace } from "./store.ts";

const WorkspaceAnswer = z.strictObject({
  workspace: z.strictObject({
    id: z.string(),
    slug: z.string(),
    createdAt: Instant,
    repository: z.string(),
    branch: z.string().nullable(),
    commitSha: z.string().nullable(),
    syncedAt: Instant.nullable(),
    stale: z.boolean(),
    error: z.string().optional(),
  }),
});

/** `GET /workspace`: the caller's workspace and the repository it is connected to. */
export function workspaceEndpoints({
  db,
  describeRepository,
}: {
  db: Database;
  describeRepository: DescribeRepository;
}): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/workspace",
      id: "getWorkspace",
      tag: "Workspace",
      role: "viewer",
      summary: "The workspace and its connected repository.",
      status: 200,
      response: WorkspaceAnswer,
      async handle({ actor }) {
        const workspace = await findWorkspace(db.read, { id: actor.workspaceId });
        if (!workspace) throw notFound("This key's workspace is gone; use a key of another workspace.");
        const { id, slug, createdAt } = workspace;
        const repository = await describeRepository(id);
        return { workspace: { id, slug, createdAt: toInstant(createdAt), ...repository } };
      },
    }),
  ];
}
