import { existsSync, globSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Clocks of processes, each of which can be set apart from the others. Instants in epoch milliseconds. */
export interface Clocks {
  /** How many times as fast as real time they go. */
  readonly speed: number;
  /** Whether `jump` and `jumpAll` do anything. */
  readonly jumpable: boolean;
  /** What they show that were not set to anything else. */
  now(): number;
  /** From now on `now` is what the database showed at a moment of this process's own clock. */
  follow(shown: number, at: number): void;
  /** The environment of a process that is about to start with the right time; a name has one process at a time. */
  env(name: string): Record<string, string>;
  /** Sets a process's clock to be wrong by that much; 0 sets it right. It notices within a second. */
  jump(name: string, wrongBy: number): void;
  /** Moves the right time and every clock by that much. */
  jumpAll(by: number): void;
}

const noVariables: Record<string, string> = {};

/** Path of libfaketime for programs with threads; undefined when it is not installed. */
export function findFakeTime(): string | undefined {
  const folders = [
    "/usr/lib/*/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
    "/usr/local/lib/faketime",
  ];
  return folders.flatMap((folder) => globSync(`${folder}/libfaketimeMT.so.1`))[0];
}

/**
 * Clocks by libfaketime, which reads each process's time from a file in `directory`. Timers, which go by the monotonic
 * clock, keep their pace. Without the library every clock is the real one.
 */
export function createClocks(library: string | undefined, speed: number, directory: string): Clocks {
  /** By how much each process's clock was ahead of the real one when it started. */
  const offsets = new Map<string, number>();
  let base = { shown: Date.now(), at: Date.now() };
  const now = () => base.shown + (Date.now() - base.at) * speed;
  const fileOf = (name: string) => join(directory, `${name}.time`);

  function write(name: string, offset: number): void {
    const file = fileOf(name);
    writeFileSync(
      `${file}.new`,
      `${offset < 0 ? "-" : "+"}${(Math.abs(offset) / 1_000).toFixed(3)} x${speed}`,
    );
    renameSync(`${file}.new`, file);
  }

  return {
    speed,
    jumpable: library !== undefined,
    now,
    follow(shown, at) {
      base = { shown, at };
    },
    env(name) {
      const offset = now() - Date.now();
      offsets.set(name, offset);
      if (library === undefined) return noVariables;
      write(name, offset);
      return {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: fileOf(name),
        FAKETIME_CACHE_DURATION: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        NO_FAKE_STAT: "1",
      };
    },
    jump(name, wrongBy) {
      const offset = offsets.get(name);
      if (offset !== undefined) write(name, offset + wrongBy);
    },
    jumpAll(by) {
      base.shown += by;
      for (const [name, offset] of offsets) {
        offsets.set(name, offset + by);
        write(name, offset + by);
      }
    },
  };
}

/** Removes what libfaketime leaves behind of a process that was killed. */
export function forgetFakeTime(pid: number | undefined): void {
  for (const path of [`/dev/shm/faketime_shm_${pid}`, `/dev/shm/sem.faketime_sem_${pid}`])
    if (existsSync(path)) rmSync(path, { force: true });
}
