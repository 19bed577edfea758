import { z } from "zod";
import { anotherRepository, type Decision, ignored, type Served, sameName } from "../decision.ts";

const objectId = z.string().regex(/^[0-9a-f]{40,64}$/);

export const PushPayload = z.object({
  ref: z.string(),
  before: objectId,
  after: objectId,
  deleted: z.boolean().default(false),
  repository: z.object({ full_name: z.string(), default_branch: z.string() }),
});

/**
 * Whether a push went to the branch that is served. The lists of commits and files are not looked at: GitHub
 * shortens them, and pushes arrive in any order, so the head is read from the API.
 */
export function analyzePush(
  { ref, before, after, deleted, repository }: z.infer<typeof PushPayload>,
  { repository: name, branch }: Served,
): Decision {
  if (!sameName(repository.full_name, name)) return anotherRepository(repository.full_name);
  if (ref.startsWith("refs/tags/")) return ignored("A tag was pushed, no branch.");
  const served = branch ?? repository.default_branch;
  if (ref !== `refs/heads/${served}`) return ignored(`${ref} is not the branch ${served}, which is served.`);
  if (deleted || isNone(after)) return ignored(`The branch ${served} was deleted.`);
  return {
    result: "changed",
    ...(isNone(before) ? {} : { before }),
    ...(branch === undefined ? { defaultBranch: served } : {}),
  };
}

/** Git's id for "no commit". */
const isNone = (sha: string) => /^0+$/.test(sha);
