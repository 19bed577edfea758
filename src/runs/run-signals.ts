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
      const set = waiting.get(runId) ?? new Set();
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          set.delete(done);
          if (set.size === 0 && waiting.get(runId) === set) waiting.delete(runId);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener("abort", done, { once: true });
        waiting.set(runId, set.add(done));
        if (signal.aborted) done();
      });
    },
  };
}
