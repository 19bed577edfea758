import { Worker } from "node:worker_threads";
import type { BoundedChecks, Verdict } from "./assertions.ts";
import type { CheckAnswer, CheckTask } from "./check-worker.ts";

/** Checks with a time limit, in threads of their own; see `createCheckPool`. */
export interface CheckPool extends BoundedChecks {
  /** Ends the threads; checks that are under way fail. */
  close(): Promise<void>;
}

export interface CheckPoolOptions {
  /** Threads at the same time. */
  size?: number;
  /** What one check may take, compiling its pattern included, milliseconds. */
  budgetMs?: number;
  /** How long a thread is kept without work, milliseconds. */
  idleMs?: number;
}

interface Thread {
  worker: Worker;
  /** Of the budget while it works, of its end while it rests. */
  timer: NodeJS.Timeout | undefined;
  /** Ends the check that it does; undefined while it rests. */
  settle: ((verdict: Verdict) => void) | undefined;
}

/** Longest output that is checked, bytes of UTF-8. */
const maxBytes = 256 * 1024;

const tooLong: Verdict = { passed: false, reason: "The output is over 256 KiB, which is not checked." };
const broken: Verdict = { passed: false, reason: "The check failed on this output; make it simpler." };
const closed: Verdict = { passed: false, reason: "The check was not done because the process stops." };

/** The source beside this file, compiled or not. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./check-worker.ts" : "./check-worker.js",
  import.meta.url,
);

/**
 * Does checks in a few threads that are started when they are needed. One that takes longer than its budget
 * has its thread ended, which is the only way to stop a regular expression; other checks go on meanwhile.
 */
export function createCheckPool({
  size = 2,
  budgetMs = 250,
  idleMs = 5_000,
}: CheckPoolOptions = {}): CheckPool {
  const threads = new Set<Thread>();
  const waiting: { task: CheckTask; resolve(verdict: Verdict): void }[] = [];
  let stopped = false;

  function check(task: CheckTask): Promise<Verdict> {
    if (Buffer.byteLength(task.text) > maxBytes) return Promise.resolve(tooLong);
    if (stopped) return Promise.resolve(closed);
    return new Promise((resolve) => {
      waiting.push({ task, resolve });
      next();
    });
  }

  function next(): void {
    const free = [...threads].find(({ settle }) => settle === undefined);
    if (waiting.length === 0 || (!free && threads.size >= size)) return;
    const entry = waiting.shift();
    if (entry) begin(free ?? startThread(), entry.task, entry.resolve);
  }

  function startThread(): Thread {
    const worker = new Worker(workerFile, { resourceLimits: { maxOldGenerationSizeMb: 128 } });
    const thread: Thread = { worker, timer: undefined, settle: undefined };
    threads.add(thread);
    worker.on("message", (answer: CheckAnswer) => {
      if ("passed" in answer) thread.settle?.(answer);
      else thread.timer = setTimeout(overdue, budgetMs, thread);
    });
    worker.on("error", () => end(thread, broken));
    worker.on("exit", () => end(thread, broken));
    return thread;
  }

  /** An answer that has arrived while this process was busy comes before its time-out. */
  function overdue(thread: Thread): void {
    const { settle } = thread;
    setImmediate(() => {
      if (thread.settle === settle) end(thread, late(budgetMs));
    });
  }

  function begin(thread: Thread, task: CheckTask, resolve: (verdict: Verdict) => void): void {
    clearTimeout(thread.timer);
    thread.worker.ref();
    thread.settle = (verdict) => {
      clearTimeout(thread.timer);
      thread.settle = undefined;
      // A thread at rest does not keep the process alive.
      thread.worker.unref();
      thread.timer = setTimeout(() => end(thread, broken), idleMs).unref();
      resolve(verdict);
      next();
    };
    thread.worker.postMessage(task);
  }

  /** Ends a thread for good; what it was doing gets that verdict. */
  function end(thread: Thread, verdict: Verdict): Promise<unknown> {
    const gone = threads.delete(thread) ? thread.worker.terminate() : Promise.resolve();
    thread.settle?.(verdict);
    clearTimeout(thread.timer);
    return gone;
  }

  return {
    regex: (pattern, text) => check({ kind: "regex", pattern, text }),
    jsonSchema: (schema, text) => check({ kind: "jsonSchema", schema, text }),
    async close() {
      stopped = true;
      for (const { resolve } of waiting.splice(0)) resolve(closed);
      await Promise.all([...threads].map((thread) => end(thread, closed)));
    },
  };
}

function late(budgetMs: number): Verdict {
  return {
    passed: false,
    reason: `The check took over ${budgetMs} ms and was stopped; make the pattern simpler.`,
  };
}
