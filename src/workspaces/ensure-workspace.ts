import type { Clock } from "../platform/clock.ts";
import { isUniqueViolation, type Tx } from "../platform/db/index.ts";
import type { Ids } from "../platform/ids.ts";
import { findWorkspace, insertWorkspace, type Workspace } from "./store.ts";

const firstSlug = "default";

/** The first workspace, made when it is not there yet; of processes that start together one makes it. */
export async function ensureWorkspace(
  tx: Tx,
  { ids, clock }: { ids: Ids; clock: Clock },
): Promise<Workspace> {
  const known = await findWorkspace(tx, { slug: firstSlug });
  if (known) return known;
  const made: Workspace = { id: ids("ws"), slug: firstSlug, createdAt: clock() };
  try {
    await insertWorkspace(tx, made);
    return made;
  } catch (error) {
    const twin = isUniqueViolation(error) ? await findWorkspace(tx, { slug: firstSlug }) : undefined;
    if (!twin) throw error;
    return twin;
  }
}
