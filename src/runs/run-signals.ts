/** Tells those who wait for a run in this process that something of it was committed. */
export interface RunSignals {
  notify(runId: string): void;
  /** Settles at the next notification of that run, after `ms`, or when `signal` is aborted. */
  next(runId: string, ms: number, signal: AbortSignal): Promise<void>;
}

export function createRunSignals(): RunSignals {
  const waiting = new Map<string, Set<() => void>>();

  return {
    notify(runId) {
      const wake = waiting.get(runId);
      if (!wake) return;
      waiting.delete(runId);
      for (const each of wake) each();
    },
    next(runId, ms, signal) {
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          waiting.get(runId)?.delete(done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener("abort", done, { once: true });
        const set = waiting.get(runId) ?? new Set();
        waiting.set(runId, set.add(done));
        if (signal.aborted) done();
      });
    },
  };
}
