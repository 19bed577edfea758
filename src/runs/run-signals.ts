/** Tells those who wait for a run in this process that something of it was committed. */
export interface RunSignals {
  notify(runId: string): void;
  /** Settles at the next notification of that run, after `ms`, or when `signal` is aborted. */
  next(runId: string, ms: number, signal: AbortSignal): Promise<void>;
}

/** Looking for changes that other processes made, while somebody waits; milliseconds. */
export const pollMs = 500;

export interface Waiting<T> {
  signals: RunSignals;
  /** What notifications name. */
  id: string;
  seconds: number;
  signal: AbortSignal;
  read(): Promise<T>;
  hasEnded(value: NoInfer<T>): boolean;
}

/** What `read` gives once it has ended, or as it is after that many seconds or when `signal` is aborted. */
export async function untilEnded<T>({
  signals,
  id,
  seconds,
  signal,
  read,
  hasEnded,
}: Waiting<T>): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    // Asked for before reading: what is committed in between is not missed.
    const changed = signals.next(id, Math.min(pollMs, Math.max(0, deadline - performance.now())), signal);
    const value = await read();
    if (hasEnded(value) || performance.now() >= deadline || signal.aborted) return value;
    await changed;
  }
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
