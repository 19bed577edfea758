import { notFound, unprocessable } from "../platform/errors.ts";
import type { Problem } from "./problem.ts";

/** 404 for a name that no file of the repository claims. */
export function unknownAgent(name: string) {
  return notFound(
    `No agent is named ${JSON.stringify(name.slice(0, 100))}; GET /agents lists those there are.`,
  );
}

/** 404 for a number that no snapshot of the agent has. */
export function unknownVersion(name: string, number: number) {
  return notFound(
    `The agent ${name} has no version ${number}; GET /agents/${name}/versions lists those there are.`,
  );
}

/** 422 for a draft that cannot be used as it is. */
export function invalidDraft(name: string, problems: readonly Problem[]) {
  return unprocessable(`The draft of ${name} is not valid; correct the problems in details.`, { problems });
}
