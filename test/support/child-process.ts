import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

export interface ScriptOptions {
  args?: readonly string[];
  /** The whole environment apart from PATH, HOME, TMPDIR, TZ and Node's cache: nothing of the developer's own leaks in. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Script {
  readonly pid: number;
  /** Lines of stdout so far. */
  readonly lines: readonly string[];
  /** Text of stderr so far. */
  stderr(): string;
  /**
   * The first line of stdout, past ones included, that matches. Throws, with what the script wrote, when it
   * ends or `timeoutMs` (20 s) pass without one.
   */
  waitForLine(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** Sends a signal and resolves when the script has ended. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
  /** Resolves when the script has ended and all it wrote was read. */
  readonly exit: Promise<Exit>;
}

/**
 * Runs a script of the project in a process of its own with the Node of the tests. Call it within a test: the
 * process is killed when that test is finished, however that comes about.
 */
export function startScript(file: string, options: ScriptOptions = {}): Script {
  const child = spawn(process.execPath, [file, ...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...inherited(), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // A process group, so that what the script starts itself can be ended with it.
  });
  const lines: string[] = [];
  let errorText = "";
  const output = createInterface({ input: child.stdout });
  output.on("line", (line) => lines.push(line));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errorText += text;
  });
  const exit = once(child, "close").then(([code, signal]): Exit => ({ code, signal }));
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await exit;
  };
  endWithTest(() => {
    killGroup(child.pid);
    return exit;
  });

  return {
    pid: child.pid ?? 0,
    lines,
    stderr: () => errorText,
    exit,
    kill,
    async waitForLine(pattern, timeoutMs = 20_000) {
      const found = Promise.withResolvers<string>();
      const fail = (why: string) =>
        found.reject(new Error(`${why} without a line like ${pattern}.\n${lines.join("\n")}\n${errorText}`));
      const look = () => {
        const line = lines.find((text) => pattern.test(text));
        if (line !== undefined) found.resolve(line);
      };
      const timer = setTimeout(() => fail(`${timeoutMs} ms passed`), timeoutMs);
      output.on("line", look);
      look();
      void exit.then(() => fail(`${file} ended`));
      try {
        return await found.promise;
      } finally {
        clearTimeout(timer);
        output.off("line", look);
      }
    },
  };
}

function inherited(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "TZ", "NODE_COMPILE_CACHE"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Does nothing for a group that has ended. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function endWithTest(end: () => Promise<unknown>): void {
  const onExit = () => void end();
  process.once("exit", onExit);
  onTestFinished(async () => {
    process.off("exit", onExit);
    await end();
  });
}
