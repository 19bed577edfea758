import { z } from "zod";
import type { AgentSpec } from "../frameworks/index.ts";
import type { ParsedDocument } from "./parse-document.ts";
import { type Problem, pathText, shown } from "./problem.ts";

/** The key is that of any framework whose agents can leave a run to others; the others' specs have none. */
const HandingOff = z.object({ handoffs: z.array(z.string()) });

/** Names of the agents that a spec may hand off to, in its order. */
export function handoffsOf(spec: AgentSpec): readonly string[] {
  return HandingOff.safeParse(spec).data?.handoffs ?? [];
}

/** A handoff and the place in the file that names it. */
export interface PlacedHandoff extends Omit<Problem, "message"> {
  name: string;
}

export function placeHandoffs(
  spec: AgentSpec,
  locate: Extract<ParsedDocument, { ok: true }>["locate"],
): PlacedHandoff[] {
  return handoffsOf(spec).map((name, index) => {
    const path = ["handoffs", index];
    return { name, path: pathText(path), ...locate(path) };
  });
}

/** What has to be known of an agent that another one hands off to. */
export interface HandoffTarget {
  framework: string;
  valid: boolean;
}

/**
 * What is wrong with the handoffs of an agent, each at its place: no run of the draft can start while one leads
 * nowhere. `targets` are the agents of these names as they are now; a name that several files claim is not valid.
 */
export function handoffWarnings(
  framework: string,
  handoffs: readonly PlacedHandoff[],
  targets: ReadonlyMap<string, HandoffTarget>,
): Problem[] {
  return handoffs.flatMap(({ name, ...place }) => {
    const message = faultOf(framework, name, targets.get(name));
    return message === undefined ? [] : [{ message, ...place }];
  });
}

function faultOf(framework: string, name: string, target: HandoffTarget | undefined): string | undefined {
  if (target === undefined)
    return `There is no agent ${shown(name)} in ${shown(`agents/${framework}`)}; add it, or take the handoff out.`;
  if (target.framework !== framework)
    return `${shown(name)} is an agent of ${shown(target.framework)}; hand off to agents of ${shown(framework)} alone.`;
  if (target.valid) return undefined;
  return `The agent ${shown(name)} has problems of its own, and nothing can be handed off to it; correct it first.`;
}
