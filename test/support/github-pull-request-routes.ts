import fs from "node:fs";
import git from "isomorphic-git";
import type { ServedRepository } from "./github-repository-routes.ts";
import type { SimulatedAnswer, SimulatedCall, SimulatedRoute } from "./github-simulator.ts";

/** A pull request; a test may change it while the simulator runs. */
export interface SimulatedPull {
  number: number;
  headSha: string;
  baseRef: string;
  /** Null for an account that is gone. */
  author: string | null;
  /** As GitHub says it: OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE, … */
  association: string;
  draft: boolean;
  /** Full name of the repository that the commits come from; null for one that is gone. */
  headRepo: string | null;
  state: "open" | "closed";
  merged: boolean;
  /** Of one that was opened through the API. */
  headRef?: string;
  title?: string;
  body?: string;
}

export interface SimulatedStatus {
  sha: string;
  state: string;
  context: string;
  description: string | null;
  target_url: string | null;
}

export interface SimulatedAnnotation {
  path: string;
  start_line: number;
  end_line: number;
  annotation_level: string;
  message: string;
  title?: string;
}

export interface SimulatedCheckRun {
  id: number;
  head_sha: string;
  name: string;
  status: string;
  conclusion: string | null;
  details_url: string | null;
  output: { title: string; summary: string; annotations: SimulatedAnnotation[] };
}

/** What GitHub holds of pull requests and of the App's reports on commits. */
export interface SimulatedHost {
  pulls: Map<number, SimulatedPull>;
  /** Logins of those who may write, whatever a pull request says of its author's association. */
  writers: Set<string>;
  /** All that were posted, oldest first. */
  statuses: SimulatedStatus[];
  /** All that were made, oldest first, each as it is after its updates. */
  checkRuns: SimulatedCheckRun[];
  /** What the App may do. Missing ones are answered as GitHub does. */
  permissions: {
    pullRequests: boolean;
    statuses: boolean;
    checks: boolean;
    /** Writing of each: a pull request is opened with the one and its branch is made with the other. */
    pullRequestWrites: boolean;
    contents: boolean;
  };
  /** Branches that are changed by pull requests alone. */
  protectedBranches: Set<string>;
  /** Opens a pull request, by `octocat`, a member, against `main` unless told. */
  openPull(pull: Pick<SimulatedPull, "number" | "headSha"> & Partial<SimulatedPull>): SimulatedPull;
  close(number: number): void;
  merge(number: number): void;
}

export function createSimulatedHost(repository: string): SimulatedHost {
  const pulls = new Map<number, SimulatedPull>();
  const end = (number: number, merged: boolean) => {
    const pull = pulls.get(number);
    if (pull === undefined) throw new Error(`There is no pull request ${number}.`);
    Object.assign(pull, { state: "closed", merged });
  };
  return {
    pulls,
    writers: new Set(),
    statuses: [],
    checkRuns: [],
    permissions: {
      pullRequests: true,
      statuses: true,
      checks: true,
      pullRequestWrites: true,
      contents: true,
    },
    protectedBranches: new Set(),
    openPull(pull) {
      const opened: SimulatedPull = {
        baseRef: "main",
        author: "octocat",
        association: "MEMBER",
        draft: false,
        headRepo: repository,
        state: "open",
        merged: false,
        ...pull,
      };
      pulls.set(opened.number, opened);
      return opened;
    },
    close: (number) => end(number, false),
    merge: (number) => end(number, true),
  };
}

const BASE = "/repos/:owner/:repo";
const MOST_STATUSES = 1000;
const MOST_ANNOTATIONS = 50;
const MOST_SUMMARY_BYTES = 65_535;
const MOST_DESCRIPTION = 140;
const missing: SimulatedAnswer = { status: 404, body: { message: "Not Found" } };
const forbidden: SimulatedAnswer = {
  status: 403,
  body: { message: "Resource not accessible by integration", status: "403" },
};

export function pullRequestRoutes(host: SimulatedHost, served: ServedRepository): SimulatedRoute[] {
  const may = (permission: keyof SimulatedHost["permissions"], answer: SimulatedRoute["answer"]) => {
    return async (call: SimulatedCall) => (host.permissions[permission] ? answer(call) : forbidden);
  };
  return [
    {
      route: `GET ${BASE}/pulls/:number`,
      answer: may("pullRequests", ({ params }) => answerPull(host, served, params)),
    },
    {
      route: `GET ${BASE}/collaborators/:username/permission`,
      answer: async ({ params: { username = "" } }) => ({
        body: { permission: host.writers.has(username) ? "write" : "read", user: { login: username } },
      }),
    },
    { route: `GET ${BASE}/compare/:basehead`, answer: (call) => answerComparison(served, call) },
    {
      route: `POST ${BASE}/statuses/:sha`,
      answer: may("statuses", (call) => takeStatus(host, served, call)),
    },
    { route: `POST ${BASE}/check-runs`, answer: may("checks", (call) => makeCheckRun(host, served, call)) },
    { route: `PATCH ${BASE}/check-runs/:id`, answer: may("checks", (call) => changeCheckRun(host, call)) },
  ];
}

async function answerPull(
  { pulls }: SimulatedHost,
  { gitdir }: ServedRepository,
  { number, owner, repo }: SimulatedCall["params"],
): Promise<SimulatedAnswer> {
  const pull = pulls.get(Number(number));
  if (pull === undefined) return missing;
  const baseSha = await git.resolveRef({ fs, gitdir, ref: `refs/heads/${pull.baseRef}` });
  const { state, merged, draft, author, association, headRepo, headSha, baseRef } = pull;
  const fullName = `${owner}/${repo}`;
  return {
    body: {
      number: pull.number,
      state,
      merged,
      merged_at: merged ? "2026-01-02T03:04:05Z" : null,
      draft,
      user: author === null ? null : { login: author, type: "User" },
      author_association: association,
      head: { sha: headSha, ref: "change", repo: headRepo === null ? null : { full_name: headRepo } },
      base: { sha: baseSha, ref: baseRef, repo: { full_name: fullName } },
    },
  };
}

async function answerComparison(
  { gitdir }: ServedRepository,
  { params, query }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const [base = "", head = ""] = (params.basehead ?? "").split("...");
  const oids = [base, head];
  const known = await Promise.all(oids.map((sha) => isCommit(gitdir, sha)));
  if (known.includes(false)) return missing;
  const [found] = await git.findMergeBase({ fs, gitdir, oids });
  if (found === undefined) {
    return { status: 404, body: { message: `No common ancestor between ${base} and ${head}.` } };
  }
  const status =
    base === head ? "identical" : found === base ? "ahead" : found === head ? "behind" : "diverged";
  // GitHub sends the changed files, up to 300, with the first page alone.
  const files = Number(query.get("page") ?? 1) === 1 ? { files: [] } : {};
  return {
    body: { status, base_commit: { sha: base }, merge_base_commit: { sha: found }, commits: [], ...files },
  };
}

async function takeStatus(
  { statuses }: SimulatedHost,
  { gitdir }: ServedRepository,
  { params, body }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const sha = params.sha ?? "";
  const sent = body as Partial<SimulatedStatus>;
  if (!(await isCommit(gitdir, sha))) return unknownCommit(sha);
  const { state = "", context = "default", description = null, target_url = null } = sent;
  if (!["pending", "success", "failure", "error"].includes(state)) {
    return invalid("Status", "state", "state is not included in the list");
  }
  if (description !== null && [...description].length > MOST_DESCRIPTION) {
    return invalid("Status", "description", "description is too long (maximum is 140 characters)");
  }
  if (description !== null && /[\u{10000}-\u{10ffff}]/u.test(description)) {
    return invalid("Status", "description", "description doesn't accept 4-byte Unicode");
  }
  const before = statuses.filter((each) => each.sha === sha && each.context === context).length;
  if (before >= MOST_STATUSES) {
    return invalid("Status", undefined, "This SHA and context has reached the maximum number of statuses.");
  }
  const status = { sha, state, context, description, target_url };
  statuses.push(status);
  return { status: 201, body: { id: statuses.length, ...status, creator: { login: "rollcall[bot]" } } };
}

type SentCheckRun = Partial<Omit<SimulatedCheckRun, "output">> & {
  output?: Partial<SimulatedCheckRun["output"]>;
};

async function makeCheckRun(
  { checkRuns }: SimulatedHost,
  { gitdir }: ServedRepository,
  { body }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const sent = body as SentCheckRun;
  const refusal = refuseCheckRun(sent);
  if (refusal !== undefined) return refusal;
  const { head_sha = "", name = "", details_url = null } = sent;
  if (!(await isCommit(gitdir, head_sha))) return unknownCommit(head_sha);
  const id = 1000 + checkRuns.length;
  const output = { title: "", summary: "", annotations: [] };
  const run = { id, head_sha, name, details_url, status: "queued", conclusion: null, output };
  checkRuns.push(run);
  apply(run, sent);
  return { status: 201, body: describe(run) };
}

async function changeCheckRun(
  { checkRuns }: SimulatedHost,
  { params, body }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const run = checkRuns.find(({ id }) => id === Number(params.id));
  if (run === undefined) return missing;
  const refusal = refuseCheckRun(body as SentCheckRun);
  if (refusal !== undefined) return refusal;
  apply(run, body as SentCheckRun);
  return { body: describe(run) };
}

/** A conclusion completes a check run; annotations are added to those that are there. */
function apply(run: SimulatedCheckRun, { output, conclusion, status, details_url }: SentCheckRun): void {
  run.status = conclusion ? "completed" : (status ?? run.status);
  run.conclusion = conclusion ?? (status && status !== "completed" ? null : run.conclusion);
  run.details_url = details_url ?? run.details_url;
  if (output === undefined) return;
  const annotations = [...run.output.annotations, ...(output.annotations ?? [])];
  run.output = {
    title: output.title ?? run.output.title,
    summary: output.summary ?? run.output.summary,
    annotations,
  };
}

function describe({ output, ...run }: SimulatedCheckRun) {
  const { title, summary, annotations } = output;
  return { ...run, output: { title, summary, text: null, annotations_count: annotations.length } };
}

function refuseCheckRun({ output, status, conclusion }: SentCheckRun): SimulatedAnswer | undefined {
  if (status === "completed" && !conclusion) return refused("Invalid request.\n\nMissing conclusion.");
  if (output === undefined) return undefined;
  const { title, summary, annotations = [] } = output;
  if (!title || !summary) return refused('Invalid request.\n\n"title", "summary" weren\'t supplied.');
  if (annotations.length > MOST_ANNOTATIONS) {
    const message = `No more than 50 items are allowed; ${annotations.length} were supplied.`;
    return refused(`Invalid request.\n\n${message}`);
  }
  if (Buffer.byteLength(summary) > MOST_SUMMARY_BYTES) {
    return invalid("CheckRun", "summary", "summary exceeds a maximum bytesize of 65535");
  }
  const long = annotations.find(
    (each) => (each.title?.length ?? 0) > 255 || Buffer.byteLength(each.message) > 65_536,
  );
  return long ? refused("Invalid request.\n\nAn annotation is too long.") : undefined;
}

const refused = (message: string): SimulatedAnswer => ({ status: 422, body: { message, status: "422" } });
const unknownCommit = (sha: string) => refused(`No commit found for SHA: ${sha}`);
const invalid = (resource: string, field: string | undefined, message: string): SimulatedAnswer => ({
  status: 422,
  body: {
    message: "Validation Failed",
    errors: [{ resource, code: "custom", ...(field ? { field } : {}), message }],
    status: "422",
  },
});

const isCommit = (gitdir: string, oid: string): Promise<boolean> =>
  git.readCommit({ fs, gitdir, oid }).then(
    (found) => found.oid === oid,
    () => false,
  );
