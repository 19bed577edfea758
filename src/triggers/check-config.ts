import { Worker } from "node:worker_threads";
import type { ConfigAnswer, ConfigProblem, ConfigTask } from "./config-worker.ts";

/** What a config may be checked for, once the thread is up, milliseconds. */
const budgetMs = 500;

/** How long a thread may take to be up. */
const startMs = 10_000;

const late: ConfigProblem = { path: "config", message: "Checking this takes too long; make it simpler." };

/** The source beside this file, compiled or not. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./config-worker.ts" : "./config-worker.js",
  import.meta.url,
);

/**
 * What of a config does not fit its type's JSON Schema; empty when all does. Undefined when the schema cannot be read:
 * then only the provider can tell. Takes bounded time and memory, in a thread of its own.
 */
export async function checkConfig(task: ConfigTask): Promise<ConfigProblem[] | undefined> {
  const worker = new Worker(workerFile, { resourceLimits: { maxOldGenerationSizeMb: 64 } });
  try {
    return await outcome(worker, task);
  } finally {
    await worker.terminate();
  }
}

function outcome(worker: Worker, task: ConfigTask): Promise<ConfigProblem[] | undefined> {
  return new Promise((resolve, reject) => {
    const starting = setTimeout(reject, startMs, new Error("The thread for configs did not start."));
    let checking: NodeJS.Timeout | undefined;
    const settle = (problems: ConfigProblem[] | undefined) => {
      clearTimeout(starting);
      clearTimeout(checking);
      resolve(problems);
    };
    worker.on("message", (answer: ConfigAnswer) => {
      if ("problems" in answer) return settle(answer.problems);
      if ("unreadable" in answer) return settle(undefined);
      clearTimeout(starting);
      // An answer that came while this process was busy goes before its time-out.
      checking = setTimeout(() => setImmediate(settle, [late]), budgetMs);
    });
    // Out of memory, or a schema that nests too deeply.
    worker.on("error", () => settle([late]));
    worker.postMessage(task);
  });
}
