import type { ProbotOctokit } from "probot";
import { RepositoryUnavailable } from "../ports.ts";
import { installationAnswer, readAnswer } from "./answers.ts";
import { toUnavailable } from "./failures.ts";
import { createTimedFetch } from "./timed-fetch.ts";

/** An Octokit that speaks for one installation of the App and renews its token itself. */
export type InstallationOctokit = ProbotOctokit;

export interface AppCredentials {
  appId: string | number;
  /** PEM text. */
  privateKey: string;
  /** REST root of a GitHub Enterprise server, for example `https://ghe.example/api/v3`. */
  baseUrl?: string;
}

export interface InstallationOptions extends AppCredentials {
  owner: string;
  repo: string;
}

const TIMEOUT = 30_000;

/**
 * Makes an Octokit for the App's installation on one repository. It never waits inside for a rate limit:
 * the answer comes back at once, for the caller to plan with. A failed connection or a 5xx is tried once
 * more after a second. It logs nothing; whoever gets its errors does. Throws RepositoryUnavailable.
 */
export async function createInstallationOctokit(options: InstallationOptions): Promise<InstallationOctokit> {
  const { owner, repo } = options;
  const app = await createOctokit(options);
  await checkCredentials(app);
  try {
    const { data } = await app.request("GET /repos/{owner}/{repo}/installation", { owner, repo });
    return await createOctokit(options, readAnswer(installationAnswer, data, `${owner}/${repo}`).id);
  } catch (error) {
    throw toUnavailable(error, `${owner}/${repo}`);
  }
}

async function createOctokit(
  { appId, privateKey, baseUrl }: AppCredentials,
  installationId?: number,
): Promise<InstallationOctokit> {
  const { ProbotOctokit } = await import("probot");
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return new ProbotOctokit({
    auth: { appId, privateKey, ...(installationId === undefined ? {} : { installationId }) },
    ...(baseUrl === undefined ? {} : { baseUrl }),
    log,
    request: { fetch: createTimedFetch(TIMEOUT), log },
    retry: { retries: 1, doNotRetry: [400, 401, 403, 404, 409, 410, 422, 429, 451] },
    // Calls are counted by this id: installations have separate limits, and the one call without is no crowd.
    throttle:
      installationId === undefined
        ? { enabled: false }
        : {
            id: `installation-${installationId}`,
            onRateLimit: () => false,
            onSecondaryRateLimit: () => false,
            write: unpaced,
          },
  });
}

/**
 * GraphQL queries are POSTs, which the plugin takes for writes and lets through one a second, the same as real writes. It
 * cannot tell them apart: queries go as they come, one batch after the other, and `host.ts` paces what it writes.
 */
const unpaced = {
  key: () => ({
    schedule: <T>(_options: unknown, work: (...args: unknown[]) => T, ...args: unknown[]) => work(...args),
  }),
};

/** Signs something, because a key that cannot sign would otherwise look like a network failure. */
async function checkCredentials(app: InstallationOctokit): Promise<void> {
  try {
    await app.auth({ type: "app" });
  } catch (cause) {
    throw new RepositoryUnavailable(
      "The GitHub App's private key cannot be used: set PRIVATE_KEY to the whole PEM text that GitHub gave.",
      "forbidden",
      undefined,
      { cause },
    );
  }
}
