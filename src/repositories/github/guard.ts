import { RepositoryUnavailable } from "../ports.ts";
import { isInstallationGone, statusOf, toUnavailable } from "./failures.ts";
import type { InstallationOctokit } from "./octokit.ts";

/** Runs one call to GitHub. Throws nothing but RepositoryUnavailable. */
export type Guard = <T>(send: (octokit: InstallationOctokit) => Promise<T>) => Promise<T>;

/**
 * Keeps calls within what GitHub allows: after a rate-limit answer nothing is sent before its time has come.
 * A call that was refused for an expired token, or because the App was installed anew, is sent once more
 * with fresh access. `connect` is asked on the first call, so that a service starts while GitHub is away, and again after it
 * has failed.
 */
export function createGuard(label: string, connect: () => Promise<InstallationOctokit>): Guard {
  let connection: Promise<InstallationOctokit> | undefined;
  let limit: RepositoryUnavailable | undefined;

  function connected(): Promise<InstallationOctokit> {
    connection ??= connect().catch((error: unknown) => {
      connection = undefined;
      throw error;
    });
    return connection;
  }

  /** Whether access was renewed, so that a second try makes sense. */
  async function renewAccess(error: unknown): Promise<boolean> {
    if (error instanceof RepositoryUnavailable) return false;
    if (isInstallationGone(error)) {
      connection = undefined;
      return true;
    }
    if (statusOf(error) !== 401) return false;
    await (await connected()).auth({ type: "installation", refresh: true });
    return true;
  }

  return async (send) => {
    if (limit?.retryAt !== undefined && Date.now() < limit.retryAt) throw limit;
    try {
      try {
        return await send(await connected());
      } catch (error) {
        if (!(await renewAccess(error))) throw error;
        return await send(await connected());
      }
    } catch (error) {
      const failure = toUnavailable(error, label);
      if (failure.reason === "rate_limited") limit = failure;
      throw failure;
    }
  };
}
