import { forEachBounded } from "../bounded.ts";
import { objectId } from "../object-id.ts";
import { type BlobContent, RepositoryUnavailable } from "../ports.ts";
import type { BlobNode } from "./answers.ts";
import type { GitHubApi } from "./api.ts";

/** Objects of one GraphQL query: well below where GitHub begins to time out. */
const BATCH_COUNT = 250;
/** Text of one GraphQL answer. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Single blobs that are fetched at the same time. */
const LANES = 5;

export interface BlobOptions {
  label: string;
  maxBytes: number;
  /** Sizes by blob id, as far as they are known: what is too large is then not fetched at all. */
  sizes: ReadonlyMap<string, number | undefined>;
}

/**
 * Contents of distinct blobs, byte for byte: what GraphQL cannot give exactly (binary, truncated, odd
 * encodings) is found out by its Git id and fetched alone. Throws RepositoryUnavailable unless all are read.
 */
export async function fetchBlobs(
  api: GitHubApi,
  shas: readonly string[],
  options: BlobOptions,
): Promise<Map<string, BlobContent>> {
  const { maxBytes, sizes } = options;
  const contents = new Map<string, BlobContent>();
  const alone: string[] = [];
  const wanted = shas.filter((sha) => (sizes.get(sha) ?? 0) <= maxBytes);
  for (const sha of shas) contents.set(sha, { tooLarge: true });

  for (const batch of toBatches(wanted, (sha) => sizes.get(sha) ?? maxBytes)) {
    const [single, ...others] = batch;
    if (single !== undefined && others.length === 0) {
      alone.push(single);
      continue;
    }
    const nodes = await api.texts(batch);
    for (const [index, sha] of batch.entries()) {
      const content = contentOf(nodes[index] ?? null, sha, options);
      if (content === undefined) alone.push(sha);
      else contents.set(sha, content);
    }
  }
  await forEachBounded(alone, LANES, async (sha) => {
    contents.set(sha, await fetchExactly(api, sha, options));
  });
  return contents;
}

function toBatches(shas: readonly string[], sizeOf: (sha: string) => number): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const sha of shas) {
    const size = sizeOf(sha);
    if (batch.length === BATCH_COUNT || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(sha);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Content of a GraphQL answer, or undefined when its text is not the blob's exact bytes. */
function contentOf(node: BlobNode, sha: string, options: BlobOptions): BlobContent | undefined {
  if (node === null) throw incomplete(options.label, sha);
  if (node.byteSize > options.maxBytes) return { tooLarge: true };
  if (node.isBinary || node.isTruncated || typeof node.text !== "string") return undefined;
  const bytes = Buffer.from(node.text);
  return objectId("blob", bytes) === sha ? { bytes } : undefined;
}

async function fetchExactly(api: GitHubApi, sha: string, options: BlobOptions): Promise<BlobContent> {
  const blob = await api.blob(sha);
  if (blob !== undefined && blob.size > options.maxBytes) return { tooLarge: true };
  if (blob === undefined || objectId("blob", blob.bytes) !== sha) throw incomplete(options.label, sha);
  return { bytes: blob.bytes };
}

const incomplete = (label: string, sha: string) =>
  new RepositoryUnavailable(
    `GitHub did not give object ${sha} of ${label}: it is asked again.`,
    "incomplete",
  );
