import { z } from "zod";
import {
  anotherRepository,
  type Decision,
  ignored,
  type Served,
  sameName,
  unknownAction,
} from "../decision.ts";

const account = z.object({ login: z.string() }).nullish();

export const RepositoryPayload = z.object({
  action: z.string(),
  repository: z.object({ name: z.string(), full_name: z.string(), default_branch: z.string() }),
  changes: z
    .object({
      default_branch: z.object({ from: z.string() }).optional(),
      repository: z.object({ name: z.object({ from: z.string() }) }).optional(),
      owner: z.object({ from: z.object({ user: account, organization: account }) }).optional(),
    })
    .optional(),
});
type Payload = z.infer<typeof RepositoryPayload>;

/** Whether the served repository can still be read under its name, and from which branch. */
export function analyzeRepository(payload: Payload, served: Served): Decision {
  const { action, repository, changes } = payload;
  const { full_name: name, default_branch: defaultBranch } = repository;
  const oldName = formerName(payload);
  if (oldName !== undefined && sameName(oldName, served.repository)) {
    // GitHub redirects reads from the old name as long as nobody else takes it.
    const note = `${oldName} is ${name} now: set ROLLCALL_REPOSITORY to that name, or its pushes are not noticed at once.`;
    return { result: "changed", note };
  }
  if (!sameName(name, served.repository)) return anotherRepository(name);
  switch (action) {
    case "created":
    case "renamed":
    case "transferred":
      return { result: "changed" };
    case "edited":
      if (changes?.default_branch === undefined) return unknownAction("edited without a change of branches");
      if (served.branch !== undefined) return ignored(`The branch ${served.branch} was chosen and stays.`);
      return { result: "changed", defaultBranch };
    case "deleted":
      return { result: "disconnected", reason: `The repository ${name} was deleted.` };
    default:
      return unknownAction(action);
  }
}

/** `owner/name` of before a rename or a transfer. */
function formerName({ action, repository, changes }: Payload): string | undefined {
  const [owner = ""] = repository.full_name.split("/");
  if (action === "renamed" && changes?.repository) return `${owner}/${changes.repository.name.from}`;
  const from = action === "transferred" ? changes?.owner?.from : undefined;
  const formerOwner = from?.user?.login ?? from?.organization?.login;
  return formerOwner === undefined ? undefined : `${formerOwner}/${repository.name}`;
}
