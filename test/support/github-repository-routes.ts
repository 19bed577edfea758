import { createHash } from "node:crypto";
import fs from "node:fs";
import git from "isomorphic-git";
import type { SimulatedAnswer, SimulatedRoute } from "./github-simulator.ts";

/** What GitHub serves of a repository's Git data, read from a Git directory at the moment of the call. */
export interface ServedRepository {
  gitdir: string;
  /** May be changed by a test while the simulator runs. */
  defaultBranch: string;
  /** Recursive tree answers with more entries are cut there and marked truncated. */
  treeLimit: number;
}

const BASE = "/repos/:owner/:repo";
/** GitHub cuts the text of larger blobs in GraphQL answers. */
const TEXT_LIMIT = 512_000;
const missing: SimulatedAnswer = { status: 404, body: { message: "Not Found" } };

export function repositoryRoutes(served: ServedRepository): SimulatedRoute[] {
  return [
    {
      route: `GET ${BASE}`,
      answer: async () => ({ body: { default_branch: served.defaultBranch, private: true } }),
    },
    { route: `GET ${BASE}/git/ref/:ref`, answer: ({ params }) => answerRef(served, params.ref ?? "") },
    {
      route: `GET ${BASE}/git/trees/:spec`,
      answer: ({ params, query }) => answerTree(served, params.spec ?? "", query.has("recursive")),
    },
    { route: `GET ${BASE}/git/commits/:sha`, answer: ({ params }) => answerCommit(served, params.sha ?? "") },
    { route: `GET ${BASE}/git/blobs/:sha`, answer: ({ params }) => answerBlob(served, params.sha ?? "") },
    {
      route: "POST /graphql",
      answer: ({ body }) => answerTexts(served, (body as { query: string }).query),
    },
  ];
}

async function answerRef({ gitdir }: ServedRepository, name: string): Promise<SimulatedAnswer> {
  const ref = `refs/${name}`;
  const refs = await git.listBranches({ fs, gitdir });
  if (refs.length === 0) return { status: 409, body: { message: "Git Repository is empty." } };
  if (!refs.some((branch) => `refs/heads/${branch}` === ref)) return missing;
  const sha = await git.resolveRef({ fs, gitdir, ref });
  const etag = `W/"${createHash("md5").update(`${ref} ${sha}`).digest("hex")}"`;
  return { etag, body: { ref, node_id: "x", url: "x", object: { type: "commit", sha, url: "x" } } };
}

async function answerTree(served: ServedRepository, spec: string, recursive: boolean) {
  const [oid = "", path] = spec.split(":");
  const { gitdir, treeLimit } = served;
  try {
    const at = path === undefined ? {} : { filepath: path };
    const { oid: sha } = await git.readTree({ fs, gitdir, oid, ...at });
    const entries = await listTree(gitdir, sha, "", recursive);
    const truncated = recursive && entries.length > treeLimit;
    return { body: { sha, truncated, tree: truncated ? entries.slice(0, treeLimit) : entries } };
  } catch (error) {
    if (error instanceof git.Errors.ObjectTypeError)
      return { status: 422, body: { message: "Tree expected" } };
    return missing;
  }
}

interface ListedEntry {
  path: string;
  mode: string;
  type: string;
  sha: string;
  size?: number;
}

async function listTree(gitdir: string, oid: string, prefix: string, recursive: boolean) {
  const found: ListedEntry[] = [];
  for (const { path, mode, type, oid: sha } of (await git.readTree({ fs, gitdir, oid })).tree) {
    const size = type === "blob" ? { size: (await git.readBlob({ fs, gitdir, oid: sha })).blob.length } : {};
    found.push({ path: prefix + path, mode, type, sha, ...size });
    if (type === "tree" && recursive) found.push(...(await listTree(gitdir, sha, `${prefix}${path}/`, true)));
  }
  return found;
}

async function answerCommit({ gitdir }: ServedRepository, oid: string): Promise<SimulatedAnswer> {
  const found = await git.readCommit({ fs, gitdir, oid }).catch(() => undefined);
  return found === undefined ? missing : { body: { sha: found.oid, tree: { sha: found.commit.tree } } };
}

async function answerBlob({ gitdir }: ServedRepository, oid: string): Promise<SimulatedAnswer> {
  const found = await git.readBlob({ fs, gitdir, oid }).catch(() => undefined);
  if (found === undefined) return missing;
  // GitHub breaks base64 into lines.
  const content = Buffer.from(found.blob).toString("base64").replace(/.{60}/g, "$&\n");
  return { body: { sha: oid, size: found.blob.length, encoding: "base64", content } };
}

async function answerTexts({ gitdir }: ServedRepository, query: string): Promise<SimulatedAnswer> {
  const repository: Record<string, unknown> = {};
  for (const [, alias = "", oid = ""] of query.matchAll(/(\w+): object\(oid: "([0-9a-f]{40})"\)/g)) {
    const found = await git.readBlob({ fs, gitdir, oid }).catch(() => undefined);
    repository[alias] = found === undefined ? null : textOf(Buffer.from(found.blob));
  }
  return { body: { data: { repository } } };
}

function textOf(blob: Buffer) {
  const isBinary = blob.includes(0);
  const isTruncated = blob.length > TEXT_LIMIT;
  const text = isBinary ? null : blob.subarray(0, TEXT_LIMIT).toString("utf8");
  return { byteSize: blob.length, isBinary, isTruncated, text };
}
