import { z } from "zod";
import { type Decision, ignored, type Served, sameName } from "../decision.ts";

const repositories = z.array(z.object({ full_name: z.string() }));

export const InstallationRepositoriesPayload = z.object({
  action: z.string(),
  repositories_added: repositories,
  repositories_removed: repositories,
});

/** Whether the App was given the served repository, or lost it. */
export function analyzeInstallationRepositories(
  payload: z.infer<typeof InstallationRepositoriesPayload>,
  { repository }: Served,
): Decision {
  const isServed = ({ full_name }: { full_name: string }) => sameName(full_name, repository);
  if (payload.repositories_removed.some(isServed)) {
    const reason = `The repository ${repository} was taken from the App: add it to the installation again.`;
    return { result: "disconnected", reason };
  }
  if (payload.repositories_added.some(isServed)) return { result: "changed" };
  return ignored("The repository that is served is not among these.");
}
