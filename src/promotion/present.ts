import type { Draft, Snapshot } from "../agents/index.ts";
import { toInstant } from "../platform/clock.ts";
import type { Promoted, Version } from "./schema.ts";

export function presentVersion({ agent: _, createdAt, ...snapshot }: Snapshot): Version {
  return { ...snapshot, createdAt: toInstant(createdAt) };
}

/** What a promotion answers. `draft` is what the snapshot was made of, when it was. */
export function presentPromoted(snapshot: Snapshot, draft?: Draft): Promoted {
  const { agent } = snapshot;
  const answer = { agent, version: presentVersion(snapshot) };
  if (!draft || draft.staleSince === null) return answer;
  const seen = `the draft of ${agent} as it was at ${toInstant(draft.staleSince)}`;
  return { ...answer, warning: `The repository could not be read lately; this is ${seen}.` };
}
