import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Server {
  url: string;
  pid: number;
  home: string;
  /** Settles with the next line of its output that fits. */
  nextLine(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<void>;
}

export const adminKey = "bench-admin-key-0123456789";

/** Starts a script of the project in a fresh data directory and waits for the line that tells its address. */
export async function startServer(
  script: string,
  args: string[],
  env: Record<string, string>,
): Promise<Server> {
  const home = env.ROLLCALL_HOME ?? (await mkdtemp(join(tmpdir(), "rollcall-bench-")));
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      ROLLCALL_HOME: home,
      ROLLCALL_ADMIN_KEY: adminKey,
      ROLLCALL_SECRET_KEY: "bench-sealing-key-0123456789-0123456789",
      ROLLCALL_API_RATE_LIMIT: "0",
      LOG_LEVEL: "warn",
      ...env,
    },
  });
  const lines = new EventEmitter();
  if (!child.stdout) throw new Error("The server has no output.");
  createInterface({ input: child.stdout }).on("line", (line) => lines.emit("line", line));
  const nextLine = (pattern: RegExp) => waitForLine(child, lines, pattern);
  const [, url = ""] = await nextLine(/ready at (http:\S+)/);
  return {
    url,
    pid: child.pid ?? 0,
    home,
    nextLine,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
      if (!env.ROLLCALL_HOME) await rm(home, { recursive: true, force: true });
    },
  };
}

function waitForLine(child: ChildProcess, lines: EventEmitter, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`The server stopped with exit code ${code}.`));
    const look = (line: string) => {
      const match = pattern.exec(line);
      if (!match) return;
      lines.off("line", look);
      child.off("exit", ended);
      resolve(match);
    };
    lines.on("line", look);
    child.once("exit", ended);
  });
}
