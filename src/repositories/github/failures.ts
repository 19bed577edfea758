import { z } from "zod";
import { RepositoryUnavailable } from "../ports.ts";

/** GitHub asks for at least this long where it names no time. */
const DEFAULT_PAUSE = 60_000;
/** Its windows last an hour; a broken header must not stop the reading for longer. */
const LONGEST_PAUSE = 65 * 60_000;

const headers = z.record(z.string(), z.coerce.string()).catch({});
/** The parts of Octokit's two kinds of error, and of any other, that tell what happened. */
const failureShape = z.object({
  message: z.string().catch(""),
  status: z.int().optional().catch(undefined),
  headers: headers.optional(),
  response: z.object({ headers: headers.optional(), data: z.unknown() }).optional().catch(undefined),
  request: z.object({ url: z.string() }).optional().catch(undefined),
  errors: z
    .array(z.object({ type: z.string().optional() }))
    .optional()
    .catch(undefined),
});
type Failure = z.infer<typeof failureShape>;

const REFUSING: ReadonlySet<number> = new Set([400, 403, 404, 410, 422]);
const MOST_SAID = 200;
const refusalAnswer = z
  .object({
    message: z.string().catch(""),
    errors: z.array(z.object({ message: z.string().optional() }).catch({})).catch([]),
  })
  .catch({ message: "", errors: [] });

/** HTTP status of a thrown error, or undefined when there was no answer with one. */
export const statusOf = (error: unknown): number | undefined => describe(error).status;

/** Whether GitHub no longer gives out tokens for the installation: the App was removed, maybe installed anew. */
export function isInstallationGone(error: unknown): boolean {
  const { status, request } = describe(error);
  return status === 404 && (request?.url.endsWith("/access_tokens") ?? false);
}

/**
 * Says what an error of Octokit means for the repository, which `label` names as `owner/name`. `retryAt` is
 * set for rate limits and never more than about an hour ahead.
 */
export function toUnavailable(error: unknown, label: string): RepositoryUnavailable {
  if (error instanceof RepositoryUnavailable) return error;
  const failure = describe(error);
  if (isRateLimit(failure)) {
    const retryAt = pauseEnd(failure, Date.now());
    return new RepositoryUnavailable(
      `GitHub's rate limit for ${label} is used up: it goes on at ${new Date(retryAt).toISOString()}.`,
      "rate_limited",
      retryAt,
      { cause: error },
    );
  }
  const [reason, message] = explain(failure, label);
  return new RepositoryUnavailable(message, reason, undefined, { cause: error });
}

/** A write that GitHub understood and will not do, now or later. */
export interface Refusal {
  status: number;
  /** Its reason, in its words; empty when it gave none. */
  said: string;
}

/** Undefined when the write may be done another time, or nobody knows whether it was. */
export function refusalOf(error: unknown): Refusal | undefined {
  const failure = describe(error);
  const { status, request, response } = failure;
  // Access is taken from an App that is suspended or removed, and may be given back.
  if (status === undefined || request?.url.endsWith("/access_tokens") || isRateLimit(failure))
    return undefined;
  if (!REFUSING.has(status)) return undefined;
  const { message, errors } = refusalAnswer.parse(response?.data);
  const reasons = errors.flatMap((each) => (each.message === undefined ? [] : [each.message]));
  return { status, said: (reasons.length > 0 ? reasons.join("; ") : message).slice(0, MOST_SAID) };
}

/** What people can do about a refusal; `what` names the things that were to be written, in the plural. */
export function adviceFor(what: string, { status, said }: Refusal): string {
  // Some routes deny that they exist to an App without the permission.
  if (status === 404 || /not accessible by integration/i.test(said))
    return `The GitHub App may not write ${what}: give it the permission and accept it for the installation.`;
  if (/no commit found/i.test(said)) return `GitHub does not know the commit for its ${what}: push it.`;
  if (/maximum number of statuses/i.test(said))
    return "The commit has as many statuses as GitHub takes for one context: push another commit.";
  return `GitHub takes no ${what} here${said === "" ? "" : ` (${said})`}: see to its reason and post again.`;
}

function describe(error: unknown): Failure {
  // Getters and non-enumerable fields of errors are read one by one: a spread would lose them.
  return failureShape.catch({ message: String(error) }).parse(error);
}

function explain(failure: Failure, label: string): [RepositoryUnavailable["reason"], string] {
  const types = new Set(failure.errors?.map((error) => error.type));
  if (failure.status === 401) {
    return [
      "forbidden",
      "GitHub refused the App's credentials: check that APP_ID and PRIVATE_KEY belong together.",
    ];
  }
  if (failure.status === 403 || types.has("FORBIDDEN")) {
    return [
      "forbidden",
      `GitHub does not let the App read ${label}: give it read access to contents and pull requests.`,
    ];
  }
  if (failure.status === 404 || types.has("NOT_FOUND")) {
    return [
      "not_found",
      `GitHub shows the App no repository ${label}: check the name and install the App on it.`,
    ];
  }
  if (failure.status === 409) {
    return ["not_found", `The repository ${label} has no commit yet: push one.`];
  }
  if (failure.errors !== undefined) {
    return ["unreachable", `GitHub could not answer for ${label} (${failure.message}): it is tried again.`];
  }
  // Octokit reports a connection that failed as 500 without an answer.
  if (failure.status === undefined || failure.response === undefined) {
    const detail = failure.message === "" ? "" : ` (${failure.message})`;
    return [
      "unreachable",
      `GitHub could not be reached for ${label}${detail}: check the network; it is tried again.`,
    ];
  }
  return [
    "unreachable",
    `GitHub answered ${failure.status} for ${label}: it is tried again; see githubstatus.com.`,
  ];
}

function isRateLimit(failure: Failure): boolean {
  if (failure.status === 429 || /secondary rate limit|abuse detection/i.test(failure.message)) return true;
  if (failure.errors?.some((error) => error.type === "RATE_LIMITED")) return true;
  if (graphqlErrors(failure).some((error) => error.type === "RATE_LIMITED")) return true;
  if (failure.status !== 403) return false;
  const sent = headersOf(failure);
  return (
    sent["x-ratelimit-remaining"] === "0" ||
    sent["retry-after"] !== undefined ||
    /rate limit/i.test(failure.message)
  );
}

/** Octokit's throttling reports this kind with the whole answer in place of its errors. */
function graphqlErrors(failure: Failure): { type?: string | undefined }[] {
  const answer = z.object({ errors: z.array(z.object({ type: z.string().optional() })) });
  return answer.safeParse(failure.response?.data).data?.errors ?? [];
}

/** When GitHub will answer again, epoch milliseconds. */
function pauseEnd(failure: Failure, now: number): number {
  const sent = headersOf(failure);
  const seconds = Number(sent["retry-after"]);
  const reset = Number(sent["x-ratelimit-reset"]) * 1000;
  let end = now + DEFAULT_PAUSE;
  if (seconds > 0) end = now + seconds * 1000;
  // A second more, because the reset is given in whole seconds of GitHub's clock.
  else if (sent["x-ratelimit-remaining"] === "0" && reset > 0) end = Math.max(reset, now) + 1000;
  return Math.min(end, now + LONGEST_PAUSE);
}

const headersOf = (failure: Failure) => failure.response?.headers ?? failure.headers ?? {};
