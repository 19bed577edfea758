/** @import { AgentChangeRecord, HeadRecord, SuiteRecord } from "./records.d.ts" */

/** What the API refused, in one sentence for the reader. */
export class ApiFailure extends Error {
  /**
   * @param {number} status 0 when there was no answer
   * @param {string} sentence
   * @param {number | undefined} retryAfterMs what the answer asks for
   */
  constructor(status, sentence, retryAfterMs) {
    super(sentence);
    this.name = "ApiFailure";
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later without anybody doing something. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const timeoutMs = 30_000;

/**
 * The operations that the page uses; each throws ApiFailure. The key goes into the header and nowhere else.
 * @param {{ base: URL, key: string, signal: AbortSignal, fetch: typeof globalThis.fetch }} options
 */
export function createApi({ base, key, signal, fetch }) {
  /**
   * @param {string} path
   * @param {RequestInit} [init]
   */
  async function call(path, init) {
    const response = await fetch(new URL(path, base), {
      ...init,
      headers: { ...init?.headers, authorization: `Bearer ${key}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    }).catch(() => undefined);
    if (!response) throw new ApiFailure(0, explainFailure(0, undefined), undefined);
    const body = await response.json().catch(() => undefined);
    if (response.ok && body !== undefined) return body;
    const sentence = explainFailure(response.status, body?.error);
    throw new ApiFailure(response.status, sentence, retryAfter(response.headers.get("retry-after")));
  }

  return {
    /**
     * @param {string} sha
     * @returns {Promise<HeadRecord[]>}
     */
    heads: async (sha) => (await call(`pull-requests?headSha=${encodeURIComponent(sha)}`)).pullRequests,
    /**
     * @param {string} id
     * @returns {Promise<SuiteRecord>}
     */
    suite: async (id) => (await call(`evals/${encodeURIComponent(id)}`)).eval,
    /**
     * @param {string} id
     * @returns {Promise<AgentChangeRecord>}
     */
    agentChange: async (id) => (await call(`agent-changes/${encodeURIComponent(id)}`)).agentChange,
    /**
     * @param {number} number
     * @param {string} headSha
     */
    async approve(number, headSha) {
      await call(`pull-requests/${number}/approve`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ headSha }),
      });
    },
  };
}

/**
 * One sentence for an answer that is no success: the server's own where it knows more than the status says.
 * @param {number} status 0 when there was no answer
 * @param {unknown} sentence the answer's `error`, if it has one
 * @returns {string}
 */
export function explainFailure(status, sentence) {
  switch (status) {
    case 0:
      return "Rollcall cannot be reached; check your connection.";
    case 429:
      return "This key has sent too many requests; wait a moment.";
    case 502:
    case 503:
    case 504:
      return "Rollcall cannot answer right now; it may in a moment.";
  }
  if (typeof sentence === "string" && sentence !== "") return sentence;
  switch (status) {
    case 401:
      return "This API key is not accepted; paste another one.";
    case 403:
      return "This API key may not do that; ask a workspace admin for a role that may.";
    case 404:
      return "Rollcall knows nothing of this; it may have been removed.";
    default:
      return `Rollcall answered with something that this page does not understand (status ${status}).`;
  }
}

/**
 * @param {string | null} header seconds, as the API sends them
 * @returns {number | undefined} milliseconds
 */
function retryAfter(header) {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}
