import { describeFailure } from "../frameworks/index.ts";
import type { RunRow } from "../runs/index.ts";

/** What was said before, once: a message and what came of it. */
export interface Exchange {
  agent: string;
  text: string;
  /** What was answered. */
  answer: string;
}

/** Characters of the history, and of each text in it, at the most. */
const mostHistory = 24_000;
const mostText = 4_000;

/**
 * The message of a run: the text alone where nothing was said before, else what was said in front of it. Each line of
 * that is quoted, so that no text can pass for the frame around it. The newest exchanges are kept when all are too many.
 */
export function withHistory(exchanges: readonly Exchange[], text: string): string {
  const kept: string[] = [];
  let length = 0;
  for (const { agent, text: said, answer } of exchanges.toReversed()) {
    const block = `User:\n${quote(said)}\n\n${agent}:\n${quote(answer)}`;
    length += block.length;
    if (length > mostHistory) break;
    kept.unshift(block);
  }
  if (kept.length === 0) return text;
  return ["Earlier in this conversation:", ...kept, "The message to answer now:", text].join("\n\n");
}

function quote(text: string): string {
  const short = text.length > mostText ? `${text.slice(0, mostText).toWellFormed()} […]` : text;
  return short
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** What a run that has ended says to whoever asked, as Markdown: of a failure only what every member may read. */
export function answerOf(run: Pick<RunRow, "status" | "output" | "failure_code">): string {
  if (run.status === "cancelled") return "Stopped.";
  if (run.status === "succeeded")
    return run.output?.trim() ? run.output : "The agent has finished without an answer.";
  const { message, recommendation } = describeFailure(run.failure_code ?? "internal");
  return `:warning: ${message}\n${recommendation}`;
}

/** What is shown while a run goes on; `tools` are those that it has called so far, in order. */
export function progressOf(tools: readonly string[]): string {
  const last = tools.at(-1);
  if (last === undefined) return "Working on it…";
  const before = tools.length > 1 ? ` (${tools.length} tool calls so far)` : "";
  return `Working on it: \`${last}\`${before}…`;
}
