/**
 * A `fetch` that gives up after so many milliseconds, answer body included. Octokit asks for a token through
 * the same function, so that no call of any kind can hang.
 */
export function createTimedFetch(timeoutMs: number): typeof fetch {
  return (input, init) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    return fetch(input, { ...init, signal });
  };
}
