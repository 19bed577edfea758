import type { Queryable, Tx } from "../platform/db/index.ts";

export interface Workspace {
  id: string;
  slug: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

interface WorkspaceRow {
  id: string;
  slug: string;
  created_at: number;
}

/** The workspace with that id or slug; undefined when there is none. */
export async function findWorkspace(
  q: Queryable,
  by: { id: string } | { slug: string },
): Promise<Workspace | undefined> {
  const row: WorkspaceRow | undefined = await q("workspaces").where(by).first();
  return row && { id: row.id, slug: row.slug, createdAt: row.created_at };
}

/** Throws a unique violation when the slug is taken. */
export async function insertWorkspace(tx: Tx, { id, slug, createdAt }: Workspace): Promise<void> {
  await tx("workspaces").insert({ id, slug, created_at: createdAt });
}
