import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Clocks, forgetFakeTime } from "./clocks.ts";

/** One process of the service, which comes back when it has ended. */
export interface Service {
  readonly name: string;
  /** Times that it ended without having been told to, after it had been ready. */
  readonly crashes: number;
  /** What it has logged as errors, line by line. */
  errors(): string[];
  /** Address of its API, or undefined while it is not ready. */
  url(): string | undefined;
  /** Starts it, again and again until it is ready: the database may be cut off at that moment. */
  start(): Promise<void>;
  /** Ends it and settles when it has ended. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** Stops it where it is, holding whatever it holds, for so many milliseconds. */
  freeze(ms: number): Promise<void>;
}

export interface ServiceOptions {
  name: string;
  /** Its data and logs go into a folder of this one. */
  directory: string;
  env: Readonly<Record<string, string>>;
  clocks: Clocks;
}

const readyLine = /ready at (http:\S+)/;
const startMs = 60_000;
/** More than the service takes for stopping in order. */
const stopMs = 40_000;

export function createService({ name, directory, env, clocks }: ServiceOptions): Service {
  const home = join(directory, name);
  const logFile = join(directory, `${name}.log`);
  let child: ChildProcess | undefined;
  let url: string | undefined;
  let wanted = false;
  let crashes = 0;
  mkdirSync(home);
  // Also one that is frozen must not outlive the run.
  process.once("exit", () => {
    child?.kill("SIGKILL");
    forgetFakeTime(child?.pid);
  });

  /** False when it has ended before it was ready. */
  async function launch(): Promise<boolean> {
    const log = openSync(logFile, "a");
    const { size } = fstatSync(log);
    const started = spawn(process.execPath, ["dist/main.js", "start"], {
      stdio: ["ignore", log, log],
      env: { PATH: process.env.PATH ?? "", PORT: "0", ROLLCALL_HOME: home, ...env, ...clocks.env(name) },
    });
    closeSync(log);
    child = started;
    started.once("exit", () => {
      if (url !== undefined && wanted) {
        crashes++;
        void start();
      }
      url = undefined;
      forgetFakeTime(started.pid);
    });
    const deadline = performance.now() + startMs;
    for (;;) {
      url = readyLine.exec(readFileSync(logFile, "utf8").slice(size))?.[1];
      if (url !== undefined) return true;
      if (hasEnded(started)) return false;
      if (performance.now() > deadline) throw new Error(`${name} did not become ready; see ${directory}.`);
      await sleep(20);
    }
  }

  async function start(): Promise<void> {
    wanted = true;
    while (wanted && !(await launch())) await sleep(200);
  }

  return {
    name,
    get crashes() {
      return crashes;
    },
    errors: () => readFileSync(logFile, "utf8").split("\n").filter(isError),
    url: () => url,
    start,
    async end(signal) {
      wanted = false;
      if (!child || hasEnded(child)) return;
      const ended = once(child, "exit");
      child.kill(signal);
      const late = setTimeout(() => child?.kill("SIGKILL"), stopMs);
      await ended;
      clearTimeout(late);
    },
    async freeze(ms) {
      const frozen = child;
      frozen?.kill("SIGSTOP");
      await sleep(ms);
      frozen?.kill("SIGCONT");
    },
  };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

const isError = (line: string) => /^\{"level":"(error|fatal)"/.test(line);
