import type { Evals } from "../evals/index.ts";

/** What a delivery says to look at. Of a pull request nothing but its number counts: deliveries come in any order. */
export type Subject =
  | { kind: "pull_request"; number: number }
  | {
      kind: "merge_group";
      /** Branch of the merge queue, without refs/heads/. */
      branch: string;
      headSha: string;
      baseSha: string;
      /** Branch that the group is to be merged into, without refs/heads/. */
      baseRef: string;
      destroyed: boolean;
    };

/**
 * Looks at a pull request or merge group as its host has it now, and starts or ends what follows from that.
 * Settles with the head commit that was found there; undefined when there is none. Throws RepositoryUnavailable.
 */
export type Consider = (subject: Subject) => Promise<string | undefined>;

/** What is needed of eval suites. */
export type Suites = Pick<Evals, "prepareAt" | "supersede" | "verdicts" | "states">;

/** The texts of an agent that a verdict is about, by their hashes. */
export type AgentTexts = Parameters<Suites["verdicts"]>[1][number];
