import fs from "node:fs";
import git from "isomorphic-git";
import type { SimulatedHost } from "./github-pull-request-routes.ts";
import type { ServedRepository } from "./github-repository-routes.ts";
import type { SimulatedAnswer, SimulatedCall, SimulatedRoute } from "./github-simulator.ts";

const BASE = "/repos/:owner/:repo";
const forbidden: SimulatedAnswer = {
  status: 403,
  body: { message: "Resource not accessible by integration", status: "403" },
};
const refused = (message: string): SimulatedAnswer => ({ status: 422, body: { message, status: "422" } });

/** How an App writes: Git data piece by piece, and pull requests between branches. */
export function writingRoutes(host: SimulatedHost, served: ServedRepository): SimulatedRoute[] {
  const may = (permission: "contents" | "pullRequestWrites", answer: SimulatedRoute["answer"]) => {
    return async (call: SimulatedCall) => (host.permissions[permission] ? answer(call) : forbidden);
  };
  let turn: Promise<unknown> = Promise.resolve();
  /** GitHub compares and moves a ref in one step. */
  const inTurn = (work: () => Promise<SimulatedAnswer>) => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  return [
    { route: `POST ${BASE}/git/trees`, answer: may("contents", ({ body }) => makeTree(served, body)) },
    { route: `POST ${BASE}/git/commits`, answer: may("contents", (call) => makeCommit(served, call)) },
    {
      route: `POST ${BASE}/git/refs`,
      answer: may("contents", ({ body }) => inTurn(() => makeRef(served, body))),
    },
    {
      route: `PATCH ${BASE}/git/refs/:ref`,
      answer: may("contents", (call) => inTurn(() => moveRef(host, served, call))),
    },
    { route: `GET ${BASE}/pulls`, answer: async (call) => listPulls(host, call) },
    {
      route: `POST ${BASE}/pulls`,
      answer: may("pullRequestWrites", (call) => makePull(host, served, call)),
    },
  ];
}

interface SentTree {
  base_tree?: string;
  tree: { path: string; mode: string; type: string; content: string }[];
}

async function makeTree({ gitdir }: ServedRepository, body: unknown): Promise<SimulatedAnswer> {
  const { base_tree, tree } = body as SentTree;
  let root = base_tree;
  for (const { path, mode, content } of tree) {
    const oid = await git.writeBlob({ fs, gitdir, blob: new TextEncoder().encode(content) });
    root = await putFile(gitdir, root, path.split("/"), { mode, oid });
  }
  return { status: 201, body: { sha: root, tree: [] } };
}

async function putFile(
  gitdir: string,
  tree: string | undefined,
  [part = "", ...below]: string[],
  file: { mode: string; oid: string },
): Promise<string> {
  const lines = tree === undefined ? [] : (await git.readTree({ fs, gitdir, oid: tree })).tree;
  const old = lines.find(({ path }) => path === part);
  const isFolder = below.length > 0;
  const oid = isFolder
    ? await putFile(gitdir, old?.type === "tree" ? old.oid : undefined, below, file)
    : file.oid;
  const line = isFolder
    ? { path: part, mode: "040000", type: "tree" as const, oid }
    : { path: part, mode: file.mode, type: "blob" as const, oid };
  return git.writeTree({ fs, gitdir, tree: [...lines.filter((each) => each !== old), line] });
}

/** A commit without an author is the App's own. */
async function makeCommit({ gitdir }: ServedRepository, { body, params }: SimulatedCall) {
  const { message, tree, parents } = body as { message: string; tree: string; parents: string[] };
  const app = { name: "rollcall[bot]", email: "1+rollcall[bot]@users.noreply.github.com" };
  const author = { ...app, timestamp: Math.floor(Date.now() / 1000), timezoneOffset: 0 };
  const commit = { message, tree, parent: parents, author, committer: author };
  const sha = await git.writeCommit({ fs, gitdir, commit });
  const html_url = `https://github.test/${params.owner}/${params.repo}/commit/${sha}`;
  return { status: 201, body: { sha, html_url, verification: { verified: true } } };
}

async function makeRef({ gitdir }: ServedRepository, body: unknown): Promise<SimulatedAnswer> {
  const { ref, sha } = body as { ref: string; sha: string };
  if ((await resolve(gitdir, ref)) !== undefined) return refused("Reference already exists");
  await git.writeRef({ fs, gitdir, ref, value: sha });
  return { status: 201, body: { ref, object: { type: "commit", sha } } };
}

async function moveRef(
  host: SimulatedHost,
  { gitdir }: ServedRepository,
  { params, body }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const ref = `refs/${params.ref}`;
  const { sha, force } = body as { sha: string; force: boolean };
  const before = await resolve(gitdir, ref);
  if (before === undefined) return refused("Reference does not exist");
  if (host.protectedBranches.has(ref.replace("refs/heads/", "")))
    return refused("Repository rule violations found\n\nChanges must be made through a pull request.");
  const isForward = await git.isDescendent({ fs, gitdir, oid: sha, ancestor: before });
  if (!force && !isForward) return refused("Update is not a fast forward");
  await git.writeRef({ fs, gitdir, ref, value: sha, force: true });
  return { body: { ref, object: { type: "commit", sha } } };
}

function listPulls({ pulls }: SimulatedHost, { query, params }: SimulatedCall): SimulatedAnswer {
  const [, branch] = (query.get("head") ?? "").split(":");
  const found = [...pulls.values()].filter(
    ({ headRef, state }) => headRef === branch && (query.get("state") === "all" || state === "open"),
  );
  return { body: found.map((pull) => describe(pull, params)) };
}

async function makePull(
  host: SimulatedHost,
  { gitdir }: ServedRepository,
  { body, params }: SimulatedCall,
): Promise<SimulatedAnswer> {
  const sent = body as { head: string; base: string; title: string; body: string };
  const headSha = await resolve(gitdir, `refs/heads/${sent.head}`);
  if (headSha === undefined || (await resolve(gitdir, `refs/heads/${sent.base}`)) === undefined)
    return {
      status: 422,
      body: { message: "Validation Failed", errors: [{ field: "head", code: "invalid" }] },
    };
  const open = [...host.pulls.values()].some((pull) => pull.headRef === sent.head && pull.state === "open");
  if (open) {
    const message = `A pull request already exists for ${params.owner}:${sent.head}.`;
    return { status: 422, body: { message: "Validation Failed", errors: [{ message }] } };
  }
  if (Buffer.byteLength(sent.body) > 65_536) return refused("body is too long (maximum is 65536 characters)");
  const number = Math.max(100, ...host.pulls.keys()) + 1;
  const pull = host.openPull({
    number,
    headSha,
    headRef: sent.head,
    baseRef: sent.base,
    title: sent.title,
    body: sent.body,
    author: "rollcall[bot]",
    association: "NONE",
  });
  return { status: 201, body: describe(pull, params) };
}

const describe = (
  { number, headSha, headRef, state }: { number: number; headSha: string; headRef?: string; state: string },
  { owner, repo }: SimulatedCall["params"],
) => ({
  number,
  state,
  html_url: `https://github.test/${owner}/${repo}/pull/${number}`,
  head: { ref: headRef, sha: headSha },
});

const resolve = (gitdir: string, ref: string): Promise<string | undefined> =>
  git.resolveRef({ fs, gitdir, ref }).catch(() => undefined);
