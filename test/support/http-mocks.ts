import nock from "nock";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

/**
 * Lets nock answer HTTP requests of this file's tests, and nothing else. After each test all that was promised
 * has to have been asked for, and nothing besides. Node's HTTP client is its own again afterwards, for files
 * that the same process tests next.
 */
export function useHttpMocks(): void {
  let unmatched: string[] = [];
  const noteUnmatched = (request: { method: string; path?: string; url?: string }) =>
    unmatched.push(`${request.method} ${request.path ?? request.url}`);

  beforeAll(() => {
    if (!nock.isActive()) nock.activate();
  });
  beforeEach(() => {
    nock.disableNetConnect();
    unmatched = [];
    nock.emitter.on("no match", noteUnmatched);
  });
  afterEach(() => {
    const unused = nock.pendingMocks();
    nock.emitter.off("no match", noteUnmatched);
    nock.cleanAll();
    nock.enableNetConnect();
    expect({ unused, unmatched }).toEqual({ unused: [], unmatched: [] });
  });
  afterAll(() => nock.restore());
}
