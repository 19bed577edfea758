import type { AgentFiles } from "./checkout.ts";
import type { AgentChoice } from "./inputs.ts";

/**
 * The agents that were chosen. `changed` is asked for only when the choice is by change. Throws for a name that
 * the checkout does not have.
 */
export async function selectAgents(
  agents: readonly AgentFiles[],
  choice: AgentChoice,
  changed: () => Promise<readonly string[] | "all">,
): Promise<readonly AgentFiles[]> {
  switch (choice.kind) {
    case "all":
      return agents;
    case "named": {
      const missing = choice.names.filter((wanted) => !agents.some(({ name }) => name === wanted));
      if (missing.length > 0)
        throw new Error(`The checkout has no agent ${missing.join(", ")}; correct the input agents.`);
      return agents.filter(({ name }) => choice.names.includes(name));
    }
    case "changed": {
      const paths = await changed();
      if (paths === "all") return agents;
      const set = new Set(paths);
      const stems = new Set(paths.flatMap((path) => removedEval(path) ?? []));
      return agents.filter(
        ({ name, specPaths, evalPaths }) =>
          [...specPaths, ...evalPaths].some((path) => set.has(path)) || stems.has(name),
      );
    }
  }
}

/** An eval file that was removed is a change of its agent too, and is then told as skipped. */
function removedEval(path: string): string | undefined {
  return /([^/]+)\.eval\.(?:yaml|yml|json)$/.exec(path)?.[1];
}
