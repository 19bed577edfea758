import type { Problem } from "../agents/index.ts";
import type { RunTool } from "../frameworks/index.ts";
import type { Checked } from "./check-files.ts";
import { type Edit, editDocument } from "./edit-document.ts";

/** A file while it is being written: only what passes its check gets in. */
export interface Workbench {
  /** The newest text that passed; the one of the repository before that. */
  text(): string | undefined;
  /** Problems of the newest text that did not pass, if none has passed after it. */
  problems(): readonly Problem[];
  tool: RunTool;
}

export interface WorkbenchOptions {
  /** In upper case, as part of the tool's slug. */
  noun: "SPEC" | "EVALS";
  format: "yaml" | "json";
  /** The file as the repository has it. */
  current: string | undefined;
  check(text: string): Checked<unknown>;
}

const longestText = 128 * 1024;

const problemsShown = 20;

/**
 * Makes the one tool with which the author writes a file. A file that is there and can be read is changed in parts, so
 * that its comments and order stay; any other one is written whole. Problems are answered with their lines.
 */
export function createWorkbench({ noun, format, current, check }: WorkbenchOptions): Workbench {
  let text = current;
  let problems: readonly Problem[] = [];
  const inParts = current !== undefined && "text" in editDocument(current, format, []);

  function take(next: string) {
    const checked = check(next);
    problems = checked.problems;
    if (checked.problems.length > 0)
      return { ok: false, content: { kept: false, problems: checked.problems.slice(0, problemsShown) } };
    text = next;
    return { ok: true, content: { kept: true, text: next } };
  }

  async function write(args: unknown) {
    const next = stringOf(args, "text");
    if (next === undefined || next.length > longestText)
      return { ok: false, content: "Give the whole file as text." };
    return take(next.endsWith("\n") ? next : `${next}\n`);
  }

  async function change(args: unknown) {
    const edits = editsOf(args);
    if (edits === undefined) return { ok: false, content: "Give a list of changes, each with its path." };
    const edited = editDocument(text ?? "", format, edits);
    return "fault" in edited ? { ok: false, content: edited.fault } : take(edited.text);
  }

  return {
    text: () => text,
    problems: () => problems,
    tool: inParts
      ? { slug: `CHANGE_${noun}`, ...changing(noun), execute: change }
      : { slug: `WRITE_${noun}`, ...writing(noun, format), execute: write },
  };
}

const fileOf = (noun: WorkbenchOptions["noun"]) => (noun === "SPEC" ? "the spec" : "the eval file");

const writing = (noun: WorkbenchOptions["noun"], format: string) => ({
  description: `Writes ${fileOf(noun)} as a whole, in ${format.toUpperCase()}. Answers with the problems, or that it is kept.`,
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The whole file." } },
    required: ["text"],
    additionalProperties: false,
  },
});

const changing = (noun: WorkbenchOptions["noun"]) => ({
  description: `Changes parts of ${fileOf(noun)} and keeps the rest. All changes of a call are made or none. Answers with the problems, or with the new text.`,
  inputSchema: {
    type: "object",
    properties: {
      changes: {
        type: "array",
        items: {
          type: "object",
          properties: {
            path: {
              type: "string",
              description: "Place, such as instructions, parameters.maxSteps or cases[2].assert.contains.",
            },
            value: { description: "What is to stand there. Leave it out to remove what does." },
          },
          required: ["path"],
          additionalProperties: false,
        },
      },
    },
    required: ["changes"],
    additionalProperties: false,
  },
});

function stringOf(args: unknown, key: string): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  const value: unknown = Reflect.get(args, key);
  return typeof value === "string" ? value : undefined;
}

function editsOf(args: unknown): Edit[] | undefined {
  const changes: unknown =
    typeof args === "object" && args !== null ? Reflect.get(args, "changes") : undefined;
  if (!Array.isArray(changes) || changes.length === 0) return undefined;
  const edits = changes.map((each) => {
    const path = stringOf(each, "path");
    return path === undefined ? undefined : { path, value: Reflect.get(each, "value") as unknown };
  });
  return edits.every((edit) => edit !== undefined) ? edits : undefined;
}
