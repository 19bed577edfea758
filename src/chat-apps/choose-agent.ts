/** What a message asks for. */
export type Choice =
  | { kind: "run"; agent: string; text: string }
  /** Nobody has said which agent is meant. */
  | { kind: "ask" }
  /** The bot may launch no agent. */
  | { kind: "nobody" }
  /** The message says nothing. */
  | { kind: "empty" };

export interface Chooser {
  text: string;
  /** Names of the agents that the bot may launch. */
  candidates: readonly string[];
  /** The agent that the conversation was with so far. */
  threadAgent: string | null;
  defaultAgent: string | null;
}

/**
 * The agent that a message is for: the one that it begins with (`triage: …` or `triage …`), else the conversation's,
 * else the bot's default, else its only one. The name is no part of the text, unless it is all of it.
 */
export function chooseAgent({ text, candidates, threadAgent, defaultAgent }: Chooser): Choice {
  if (candidates.length === 0) return { kind: "nobody" };
  if (text === "") return { kind: "empty" };
  const [begin, name = ""] = /^([a-z0-9][a-z0-9-]{0,62})(?:\s*[:,]\s*|\s+|$)/i.exec(text) ?? [];
  const named = candidates.find((candidate) => candidate === name.toLowerCase());
  if (begin !== undefined && named !== undefined)
    return { kind: "run", agent: named, text: text.slice(begin.length).trim() || text };
  const known = [threadAgent, defaultAgent].find((each) => each !== null && candidates.includes(each));
  const agent = known ?? (candidates.length === 1 ? candidates[0] : undefined);
  return agent == null ? { kind: "ask" } : { kind: "run", agent, text };
}

/** The agent that somebody picks out of the numbered list, by its number or its name. */
export function pickOf(text: string, options: readonly string[]): string | undefined {
  const answer = text.trim().toLowerCase();
  const [, digits] = /^#?(\d{1,3})[.)]?$/.exec(answer) ?? [];
  return digits === undefined ? options.find((option) => option === answer) : options[Number(digits) - 1];
}

/** Whether a message asks for nothing but an end. */
export const isStop = (text: string): boolean => /^(stop|cancel)[\s.!]*$/i.test(text);

/** Agents that are offered at the most: a list of the longest names fits in one message. */
export const mostOffered = 40;

/** The question with the numbered list, as Markdown. */
export const askWhich = (options: readonly string[]): string =>
  [
    "Which agent is this for? Answer in this thread with its number.",
    ...options.map((option, index) => `${index + 1}. ${option}`),
  ].join("\n");

export const askAgain = (options: readonly string[]): string =>
  `Answer with a number from 1 to ${options.length}, or with the name of an agent of the list above.`;

export const notAnyMore = (agent: string): string =>
  `This bot may not launch ${agent} any more; choose another one of the list above.`;

export const sayHow = (candidates: readonly string[]): string =>
  `Write what you want done, with the name of an agent before it if you like: ${candidates.join(", ")}.`;

export const nobodyThere = "No agent carries a label that this bot may launch; ask a workspace admin.";
