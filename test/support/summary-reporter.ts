import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Reports the run in one last line, `N passed, N failed` (and `, N skipped`), for people and scripts that read
 * the end of the output. What fails outside of tests counts as failed as well: files that do not load, hooks, unhandled
 * errors, the global setup.
 */
export function createSummaryReporter(): Reporter {
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  return {
    onInit() {
      // Vitest reports some failures after the end of the run; this is the last moment there is.
      process.once("exit", (exitCode) => {
        const failed = exitCode === 0 ? counts.failed : Math.max(1, counts.failed);
        process.stdout.write(`${summaryLine({ ...counts, failed })}\n`);
      });
    },
    onTestRunEnd(
      modules: readonly TestModule[],
      unhandledErrors: readonly unknown[],
      reason: TestRunEndReason,
    ) {
      counts = countResults(modules);
      counts.failed += unhandledErrors.length;
      if (reason === "interrupted") counts.failed = Math.max(1, counts.failed);
    },
  };
}

/** The line without its line end. */
export function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function countResults(modules: readonly TestModule[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    counts.failed += module.errors().length;
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test that never got its turn is not one that passed.
      counts[state === "pending" ? "failed" : state] += 1;
    }
  }
  return counts;
}
