/** Which suites fail the step. */
export type FailOn = "failed" | "error" | "never";

export type AgentChoice = { kind: "changed" } | { kind: "all" } | { kind: "named"; names: readonly string[] };

/** The inputs of action.yml, checked. */
export interface Inputs {
  /** Without a slash at its end. */
  baseUrl: string;
  apiKey: string;
  agents: AgentChoice;
  wait: boolean;
  timeoutMs: number;
  failOn: FailOn;
  workingDirectory: string;
}

const longestTimeout = 21_600;

/**
 * Reads all inputs through `get`, which answers "" for one that is not set. Throws with one sentence that never
 * holds the key.
 */
export function readInputs(get: (name: string) => string): Inputs {
  return {
    apiKey: readKey(get("api-key")),
    baseUrl: readBaseUrl(get("base-url")),
    agents: readAgents(get("agents")),
    wait: readWait(get("wait")),
    timeoutMs: readTimeout(get("timeout")) * 1000,
    failOn: readFailOn(get("fail-on")),
    workingDirectory: get("working-directory") || ".",
  };
}

/** What may not stand in a header is refused here, because the error of fetch would quote the key. */
function readKey(text: string): string {
  if (text === "")
    throw new Error("Set the input api-key; workflows that pull requests from forks start get no secrets.");
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new Error("The input api-key has characters that no key has; set the secret again.");
  return text;
}

function readBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.search || url.hash)
    throw new Error("Set the input base-url to the service's address, such as https://rollcall.example.com.");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function readAgents(text: string): AgentChoice {
  const names = [...new Set(text.split(/[,\n]/).map((name) => name.trim()))].filter(Boolean);
  if (names.length === 0 || (names.length === 1 && names[0] === "changed")) return { kind: "changed" };
  if (names.length === 1 && names[0] === "all") return { kind: "all" };
  return { kind: "named", names };
}

function readWait(text: string): boolean {
  if (!["", "true", "false"].includes(text)) throw new Error("Set the input wait to true or false.");
  return text !== "false";
}

function readTimeout(text: string): number {
  const seconds = Number(text || "600");
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > longestTimeout)
    throw new Error(`Set the input timeout to whole seconds from 1 to ${longestTimeout}.`);
  return seconds;
}

function readFailOn(text: string): FailOn {
  switch (text) {
    case "":
    case "failed":
      return "failed";
    case "error":
    case "never":
      return text;
    default:
      throw new Error("Set the input fail-on to failed, error or never.");
  }
}
