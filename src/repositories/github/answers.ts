import { z } from "zod";
import { RepositoryUnavailable } from "../ports.ts";

/** What is read of GitHub's answers. Everything else in them may come, go and change. */

const sha = z.string().regex(/^[0-9a-f]{40}$/);

export const repositoryAnswer = z.object({ default_branch: z.string().min(1) });

export const installationAnswer = z.object({ id: z.int().positive() });

export const refAnswer = z.object({ ref: z.string(), object: z.object({ type: z.literal("commit"), sha }) });

export const commitAnswer = z.object({ sha });

export const commitTreeAnswer = z.object({ tree: z.object({ sha }) });

export const newTreeAnswer = z.object({ sha });

export const newCommitAnswer = z.object({ sha, html_url: z.url().optional() });

export const treeAnswer = z.object({
  sha,
  truncated: z.boolean().default(false),
  tree: z.array(
    z.object({
      path: z.string().min(1),
      mode: z.string(),
      type: z.enum(["blob", "tree", "commit"]),
      sha,
      size: z.int().nonnegative().optional(),
    }),
  ),
});
export type TreeAnswer = z.infer<typeof treeAnswer>;

export const blobAnswer = z.object({
  content: z.string(),
  encoding: z.literal("base64"),
  size: z.int().nonnegative(),
});

/** One object of a GraphQL batch; null when GitHub does not have it. */
const blobNode = z
  .object({
    byteSize: z.int().nonnegative(),
    isBinary: z.boolean().nullish(),
    isTruncated: z.boolean(),
    text: z.string().nullish(),
  })
  .nullable();

export const blobBatchAnswer = z.object({ repository: z.record(z.string(), blobNode) });
export type BlobNode = z.infer<typeof blobNode>;

const repositoryName = z.object({ full_name: z.string() });

/** `maintain` and `triage` are shown as `write` and `read`. */
export const permissionAnswer = z.object({ permission: z.string() });

export const pullRequestAnswer = z.object({
  number: z.int().positive(),
  state: z.enum(["open", "closed"]),
  merged: z.boolean(),
  draft: z.boolean().default(false),
  /** Null for an account that is gone. */
  user: z.object({ login: z.string() }).nullable(),
  author_association: z.string(),
  /** The repository is null when it is gone. */
  head: z.object({ sha, repo: repositoryName.nullable() }),
  base: z.object({ sha, ref: z.string().min(1), repo: repositoryName }),
});
export type PullRequestAnswer = z.infer<typeof pullRequestAnswer>;

/** What a proposal needs of a pull request, its own or one that is there. */
export const proposedAnswer = z.object({
  html_url: z.url(),
  head: z.object({ sha }),
});

export const compareAnswer = z.object({ merge_base_commit: z.object({ sha }) });

export const checkRunAnswer = z.object({ id: z.int().positive() });

/**
 * Checks an answer about the repository `label`. Throws RepositoryUnavailable (`incomplete`) when it does not fit;
 * one that was cut off on its way arrives as text, and fits no shape either.
 */
export function readAnswer<S extends z.ZodType>(shape: S, data: unknown, label: string): z.infer<S> {
  const result = shape.safeParse(data);
  if (result.success) return result.data;
  throw new RepositoryUnavailable(
    `GitHub's answer for ${label} arrived incomplete or in an unknown form: it is asked again.`,
    "incomplete",
    undefined,
    { cause: result.error },
  );
}
