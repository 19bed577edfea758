import { defineConfig } from "vitest/config";
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

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: ["default", createSummaryReporter()],
    projects: [
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"], pool: "threads" } },
      { extends: true, test: { name: "action", include: ["test/action/**/*.test.ts"], pool: "forks" } },
      { extends: true, test: { name: "browser", include: ["test/browser/**/*.test.ts"], pool: "forks" } },
      withServers("integration"),
      withServers("story"),
      withServers("contract"),
      withServers("migrations"),
      // After all others: these kill processes and cut connections.
      { ...faults, test: { ...faults.test, maxWorkers: 2, sequence: { groupOrder: 1 } } },
    ],
  },
});
