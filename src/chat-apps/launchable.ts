import type { Agents } from "../agents/index.ts";
import { type ChatAppRow, textsOf } from "./store.ts";

/** Names on a page of the catalog. */
const pageSize = 200;

/** Names of the agents that carry one of the app's labels, in the catalog's order. None without labels. */
export async function launchableBy(
  agents: Pick<Agents, "list" | "resolve" | "spec">,
  app: ChatAppRow,
): Promise<string[]> {
  const wanted = new Set(textsOf(app.agent_labels));
  if (wanted.size === 0) return [];
  const user = { workspaceId: app.workspace_id, login: app.owner };
  const names = new Set<string>();
  let before: string | undefined;
  do {
    const page = await agents.list(user, pageSize, before);
    for (const { name, labels, valid, versions } of page.agents) {
      const known =
        valid || versions.stable === null ? labels : await stableLabels(agents, app.workspace_id, name);
      if (known.some((label) => wanted.has(label))) names.add(name);
    }
    before = page.nextBefore ?? undefined;
  } while (before !== undefined);
  return [...names];
}

/** A draft that is broken has no labels; what runs is the stable version all the same. */
async function stableLabels(
  agents: Pick<Agents, "resolve" | "spec">,
  workspaceId: string,
  name: string,
): Promise<readonly string[]> {
  try {
    const { specSha } = await agents.resolve(workspaceId, name, "stable");
    return (await agents.spec(specSha)).labels ?? [];
  } catch {
    return [];
  }
}
