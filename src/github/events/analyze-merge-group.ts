import { z } from "zod";
import { anotherRepository, type Decision, type Served, sameName, unknownAction } from "../decision.ts";

const objectId = z.string().regex(/^[0-9a-f]{40,64}$/);

const branch = z
  .string()
  .regex(/^refs\/heads\/./)
  .transform((ref) => ref.slice("refs/heads/".length));

export const MergeGroupPayload = z.object({
  action: z.string(),
  merge_group: z.object({ head_sha: objectId, head_ref: branch, base_sha: objectId, base_ref: branch }),
  repository: z.object({ full_name: z.string() }),
});

/** Whether a merge queue wants a commit of its own to be checked, or has given it up. */
export function analyzeMergeGroup(
  { action, merge_group: group, repository }: z.infer<typeof MergeGroupPayload>,
  { repository: name }: Served,
): Decision {
  if (!sameName(repository.full_name, name)) return anotherRepository(repository.full_name);
  if (action !== "checks_requested" && action !== "destroyed") return unknownAction(action);
  return {
    result: "proposed",
    subject: {
      kind: "merge_group",
      branch: group.head_ref,
      headSha: group.head_sha,
      baseSha: group.base_sha,
      baseRef: group.base_ref,
      destroyed: action === "destroyed",
    },
  };
}
