import { byPath } from "../paths.ts";
import { RepositoryUnavailable, type TreeEntry } from "../ports.ts";
import type { TreeAnswer } from "./answers.ts";
import type { GitHubApi } from "./api.ts";

type Item = TreeAnswer["tree"][number];

/**
 * Everything below one folder of a commit, sorted by path: one call, or one a folder when GitHub shortens
 * its answer (100,000 entries or 7 MB). Never a part of the list: throws RepositoryUnavailable instead.
 */
export async function listFolder(
  api: GitHubApi,
  label: string,
  commitSha: string,
  folder: string,
): Promise<TreeEntry[]> {
  const answer = await api.tree(`${commitSha}:${folder}`, true);
  if (answer === undefined) {
    if (await api.hasCommit(commitSha)) return [];
    throw incomplete(label, `commit ${commitSha}`);
  }
  const items = answer.truncated ? await walk(api, label, answer.sha, "") : answer.tree;
  return items.flatMap((item) => toEntry(folder, item)).sort(byPath);
}

/** Lists a folder level by level where the recursive answer is too long. */
async function walk(api: GitHubApi, label: string, treeSha: string, prefix: string): Promise<Item[]> {
  const level = await api.tree(treeSha, false);
  if (level === undefined || level.truncated) throw incomplete(label, `folder ${prefix}`);
  const items: Item[] = [];
  for (const item of level.tree) {
    const path = prefix + item.path;
    items.push({ ...item, path });
    if (item.type !== "tree") continue;
    const below = await api.tree(item.sha, true);
    if (below === undefined) throw incomplete(label, `folder ${path}`);
    const found = below.truncated
      ? await walk(api, label, item.sha, `${path}/`)
      : below.tree.map((each) => ({ ...each, path: `${path}/${each.path}` }));
    for (const each of found) items.push(each);
  }
  return items;
}

function toEntry(folder: string, { path, type, mode, sha, size }: Item): TreeEntry[] {
  if (type === "tree") return [];
  const kind = type === "commit" ? "submodule" : mode === "120000" ? "symlink" : "file";
  return [{ path: `${folder}/${path}`, blobSha: sha, kind, size: size ?? null }];
}

const incomplete = (label: string, what: string) =>
  new RepositoryUnavailable(
    `GitHub did not list ${what} of ${label} wholly: it is asked again.`,
    "incomplete",
  );
