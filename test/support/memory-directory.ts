import { accessSync, constants, statfsSync } from "node:fs";

const path = "/dev/shm";

/** Containers are often given 64 MiB, which one database server fills. */
const leastBytes = 2 * 1024 ** 3;

/** A directory in memory with room for the files of a whole test run; undefined where the machine has none. */
export function memoryDirectory(): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= leastBytes ? path : undefined;
  } catch {
    return undefined;
  }
}
