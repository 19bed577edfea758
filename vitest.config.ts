import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { memoryDirectory } from "./test/support/memory-directory.ts";
import { createSummaryReporter } from "./test/support/summary-reporter.ts";

/** A kind of tests that share one set of servers; unit tests need none and start none. */
function withServers(name: string) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: ["test/support/global-setup.ts"],
      pool: "forks" as const,
    },
  };
}

const faults = withServers("faults");
const temporary = memoryDirectory();

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // More than there are cores: tests of a service wait more than they compute.
    maxWorkers: 4,
    // Modules of the service hold no state, so files of tests may share what is loaded.
    isolate: false,
    env: {
      ...(temporary === undefined ? {} : { TMPDIR: temporary }),
      // Processes of the service are started by the dozen; most of their start is compiling it.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node-compile"),
    },
    reporters: ["default", createSummaryReporter()],
    projects: [
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"], pool: "threads" } },
      { extends: true, test: { name: "action", include: ["test/action/**/*.test.ts"], pool: "forks" } },
      withServers("browser"),
      withServers("integration"),
      withServers("story"),
      withServers("contract"),
      withServers("migrations"),
      // After all others: these kill processes and cut connections.
      { ...faults, test: { ...faults.test, maxWorkers: 3, sequence: { groupOrder: 1 } } },
    ],
  },
});
