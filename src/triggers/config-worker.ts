/**
 * The thread that fits a config to its JSON Schema: both come from outside, and a pattern of the schema is a regular
 * expression that may never end. See check-config.ts, which ends the thread when it takes too long.
 */
import { parentPort } from "node:worker_threads";
import { z } from "zod";
import { plainIssue } from "../platform/plain-issues.ts";

export interface ConfigTask {
  schema: Record<string, unknown>;
  config: Record<string, unknown>;
}

/** A place in a config that does not fit, and what would. */
export interface ConfigProblem {
  path: string;
  message: string;
}

/** `unreadable`: the schema has something in it that cannot be checked here. */
export type ConfigAnswer = { begun: true } | { problems: ConfigProblem[] } | { unreadable: true };

const mostProblems = 20;

const answer = (message: ConfigAnswer) => parentPort?.postMessage(message);

parentPort?.on("message", (task: ConfigTask) => {
  answer({ begun: true });
  answer(check(task));
});

function check({ schema, config }: ConfigTask): ConfigAnswer {
  let shape: z.ZodType;
  try {
    shape = z.fromJSONSchema(schema);
  } catch {
    return { unreadable: true };
  }
  const checked = shape.safeParse(config, { error: plainIssue });
  const problems = (checked.error?.issues ?? []).slice(0, mostProblems).map(({ path, message }) => ({
    path: ["config", ...path.map(String)].join("."),
    message,
  }));
  return { problems };
}
