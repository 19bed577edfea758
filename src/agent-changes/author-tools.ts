import type { RunTool } from "../frameworks/index.ts";
import { AppError, errorText } from "../platform/errors.ts";
import { shortLine } from "../platform/short-line.ts";
import { type FindableTool, findTools } from "./find-tools.ts";
import type { CheckSchedule } from "./ports.ts";
import type { SuggestedAutomation } from "./schema.ts";

const mostReads = 6;
const longestRead = 20_000;
const longestDescription = 300;
const longestMessage = 2_000;

const textInput = (key: string, description: string) => ({
  type: "object",
  properties: { [key]: { type: "string", description } },
  required: [key],
  additionalProperties: false,
});

/** Lets the author read the specs of other agents, a few of them and not without end. */
export function readAgentTool(read: (name: string) => Promise<string | undefined>): RunTool {
  let left = mostReads;
  return {
    slug: "READ_AGENT",
    description: "The spec of an agent of the repository, for its style.",
    inputSchema: textInput("name", "Name of the agent."),
    async execute(args) {
      if (left === 0) return { ok: false, content: "You have read enough agents; write now." };
      left -= 1;
      const text = await read(argument(args, "name"));
      if (text === undefined) return { ok: false, content: "There is no such agent." };
      return { ok: true, content: text.slice(0, longestRead) };
    },
  };
}

/** Lets the author search the requester's own catalog. */
export function searchToolsTool(tools: readonly FindableTool[]): RunTool {
  return {
    slug: "SEARCH_TOOLS",
    description: "Searches the tool catalog by words of slugs and descriptions.",
    inputSchema: textInput("query", "A few words, such as: list github issues."),
    async execute(args) {
      const found = findTools(tools, argument(args, "query"));
      return {
        ok: true,
        content: found.map(({ slug, provider, description }) => ({
          slug,
          provider,
          description: shortLine(description, longestDescription),
        })),
      };
    },
  };
}

/** Lets the author note a schedule, which is shown to people and never made by itself. */
export function suggestScheduleTool(
  checkSchedule: CheckSchedule,
  keep: (suggestion: SuggestedAutomation) => void,
): RunTool {
  return {
    slug: "SUGGEST_SCHEDULE",
    description: "Notes when the agent is to run by itself, if the description says so.",
    inputSchema: {
      type: "object",
      properties: {
        schedule: { type: "string", description: "Five-part cron expression." },
        timezone: { type: "string", description: "IANA name, only if the description tells the place." },
        message: { type: "string", description: "What the agent is told each time." },
      },
      required: ["schedule", "message"],
      additionalProperties: false,
    },
    async execute(args) {
      const schedule = argument(args, "schedule");
      const timezone = argument(args, "timezone");
      try {
        checkSchedule(schedule, timezone === "" ? "UTC" : timezone);
      } catch (error) {
        return { ok: false, content: sayOf(error) };
      }
      keep({
        schedule,
        ...(timezone === "" ? {} : { timezone }),
        message: argument(args, "message").slice(0, longestMessage),
      });
      return { ok: true, content: "It is noted." };
    },
  };
}

function sayOf(error: unknown): string {
  if (!(error instanceof AppError)) throw error;
  return `${errorText(error)} ${JSON.stringify(error.details ?? "")}`;
}

/** '' when it is missing or no text. */
function argument(args: unknown, key: string): string {
  const value: unknown = typeof args === "object" && args !== null ? Reflect.get(args, key) : undefined;
  return typeof value === "string" ? value : "";
}
