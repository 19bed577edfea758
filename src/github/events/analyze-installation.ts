import { z } from "zod";
import { type Decision, ignored, type Served, sameName, unknownAction } from "../decision.ts";

export const InstallationPayload = z.object({
  action: z.string(),
  // An enterprise has no login.
  installation: z.object({ account: z.object({ login: z.string().optional() }).nullish() }),
});

/**
 * Whether the App came to the account of the served repository, or left it. The lists of repositories are
 * absent in some of these events, so the account decides; a look too many costs one call.
 */
export function analyzeInstallation(
  { action, installation }: z.infer<typeof InstallationPayload>,
  { repository }: Served,
): Decision {
  const [owner = ""] = repository.split("/");
  const login = installation.account?.login ?? "";
  if (!sameName(login, owner)) return ignored(`It is about the account ${login || "of an enterprise"}.`);
  switch (action) {
    case "created":
    case "unsuspend":
    case "new_permissions_accepted":
      return { result: "changed" };
    case "deleted":
      return { result: "disconnected", reason: `The App was removed from ${login}: install it again.` };
    case "suspend":
      return { result: "disconnected", reason: `The App was suspended by ${login}: lift the suspension.` };
    default:
      return unknownAction(action);
  }
}
