import type { PullRequest } from "../repositories/index.ts";
import { type HeadRow, openStates } from "./store.ts";

/** What is to be done about the heads of a pull request. */
export interface Decision {
  /** Heads that count no more, and why. */
  end: readonly { head: HeadRow; reason: string }[];
  /** The head that is to be planned. `renewed` is why suites that it has are of no use. */
  begin: { head: HeadRow; renewed: string } | undefined;
}

/**
 * Compares what the host says of a pull request, which may be the same as ever, with its heads: those that count, and
 * the one of the current commit. The new one is among them where something may begin.
 */
export function decide(facts: PullRequest | undefined, heads: readonly HeadRow[]): Decision {
  const live = heads.filter(({ state }) => state !== "superseded");
  if (!facts?.open) return { end: endOfClosed(facts, live), begin: undefined };
  const newer = supersededBy(facts.headSha);
  const others = live.filter((head) => head.head_sha !== facts.headSha);
  const end = others.map((head) => ({ head, reason: newer }));
  const current = heads.find((head) => head.head_sha === facts.headSha);
  return { end, begin: current && !facts.draft ? beginningOf(current, facts.baseRef) : undefined };
}

const supersededBy = (sha: string) => `This commit was superseded by ${sha.slice(0, 7)}.`;

/** Evals of a commit that was merged go on: promotion asks for their verdict. */
function endOfClosed(facts: PullRequest | undefined, live: readonly HeadRow[]): Decision["end"] {
  if (!facts?.merged) {
    const open = live.filter(({ state }) => openStates.includes(state));
    return open.map((head) => ({ head, reason: "The pull request was closed." }));
  }
  return live.flatMap((head) => {
    if (head.head_sha !== facts.headSha) return [{ head, reason: supersededBy(facts.headSha) }];
    return head.state === "awaiting_approval" ? [{ head, reason: "The pull request was merged." }] : [];
  });
}

function beginningOf(head: HeadRow, baseRef: string): Decision["begin"] {
  if (head.base_ref !== baseRef)
    return { head, renewed: `The pull request is to be merged into ${baseRef} now.` };
  // One that could not be planned is tried again by whatever is delivered about it.
  if (head.state === "superseded" || head.state === "error")
    return { head, renewed: "The commit is evaluated anew." };
  return undefined;
}
