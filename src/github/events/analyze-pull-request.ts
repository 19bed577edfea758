import { z } from "zod";
import {
  anotherRepository,
  type Decision,
  ignored,
  type Served,
  sameName,
  unknownAction,
} from "../decision.ts";

export const PullRequestPayload = z.object({
  action: z.string(),
  number: z.int().positive(),
  // Of a push to the branch that is proposed.
  before: z.string().optional(),
  changes: z.object({ base: z.unknown().optional() }).optional(),
  repository: z.object({ full_name: z.string() }),
});

/**
 * Whether the commit that a pull request proposes, or what it is to be merged into, may be another now. Which one it
 * is says the API: deliveries come late, twice and in any order.
 */
export function analyzePullRequest(
  { action, number, before, changes, repository }: z.infer<typeof PullRequestPayload>,
  { repository: name }: Served,
): Decision {
  if (!sameName(repository.full_name, name)) return anotherRepository(repository.full_name);
  const subject = { kind: "pull_request", number } as const;
  switch (action) {
    case "opened":
    case "reopened":
    case "ready_for_review":
    case "closed":
      return { result: "proposed", subject };
    case "synchronize":
      return { result: "proposed", subject, ...(before === undefined ? {} : { before }) };
    case "edited":
      if (changes?.base === undefined) return ignored("Only words of the pull request were edited.");
      return { result: "proposed", subject };
    default:
      return unknownAction(action);
  }
}
