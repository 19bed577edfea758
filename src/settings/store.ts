import type { Queryable, Tx } from "../platform/db/index.ts";

export interface SettingRow {
  workspace_id: string;
  name: string;
  /** JSON, or a sealed text when `sealed` is 1. */
  value: string;
  sealed: 0 | 1;
  updated_at: number;
}

/** All settings of these workspaces, by workspace; one without settings is left out. */
export async function findSettings(
  q: Queryable,
  workspaceIds: readonly string[],
): Promise<ReadonlyMap<string, SettingRow[]>> {
  const rows: SettingRow[] = await q("settings").whereIn("workspace_id", workspaceIds);
  return Map.groupBy(rows, (row) => row.workspace_id);
}

/** Adds a setting or replaces its value. */
export async function putSetting(tx: Tx, row: SettingRow): Promise<void> {
  await tx("settings").insert(row).onConflict(["workspace_id", "name"]).merge();
}

export async function removeSetting(tx: Tx, workspaceId: string, name: string): Promise<void> {
  await tx("settings").where({ workspace_id: workspaceId, name }).delete();
}
