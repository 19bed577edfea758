/** What the workflow's event says about commits. */
export interface TriggerEvent {
  /** The commit that the results are about; on pull requests not the merge that runners check out. */
  headSha: string;
  /** What `changed` compares with. */
  base:
    | { kind: "merge_base"; sha: string }
    | { kind: "commit"; sha: string }
    /** The branch is new, so everything on it is. */
    | { kind: "new_branch" }
    | { kind: "none" };
}

const commitId = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** Reads the payload of the event; `sha` (GITHUB_SHA) stands in for a head that it does not name. Never throws. */
export function readEvent(payload: unknown, sha: string): TriggerEvent {
  const head = at(payload, "pull_request", "head", "sha") ?? at(payload, "after");
  return { headSha: isCommit(head) ? head : sha, base: baseOf(payload) };
}

function baseOf(payload: unknown): TriggerEvent["base"] {
  const base = at(payload, "pull_request", "base", "sha") ?? at(payload, "merge_group", "base_sha");
  if (isCommit(base)) return { kind: "merge_base", sha: base };
  // A pull request's "synchronize" has a `before` as well, which is why its base is asked for first.
  const before = at(payload, "before");
  if (!isCommit(before)) return { kind: "none" };
  return /^0+$/.test(before) ? { kind: "new_branch" } : { kind: "commit", sha: before };
}

function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
    value,
  );
}

/** Commits become arguments of git, so nothing else may pass for one. */
const isCommit = (value: unknown): value is string => typeof value === "string" && commitId.test(value);
