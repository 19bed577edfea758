/**
 * @import { SuiteRecord } from "./records.d.ts"
 * @import { SuiteState } from "./render.js"
 * @import { ApiFailure } from "./api.js"
 */
import { describeSuite, isFinalSuite } from "./describe-suite.js";

/**
 * The suites whose section a reader opened. One that has ended is loaded once, others as long as they are open.
 * @param {object} deps
 * @param {(id: string) => Promise<SuiteRecord>} deps.load
 * @param {(error: unknown) => ApiFailure | undefined} deps.failureOf undefined for one that nobody wants to know of
 */
export function createOpenedSuites({ load, failureOf }) {
  /** @type {Map<string, SuiteState>} */
  const states = new Map();
  /** @type {Set<string>} */
  const followed = new Set();

  /** @param {string} id */
  async function refresh(id) {
    try {
      const suite = await load(id);
      const final = isFinalSuite(suite);
      states.set(id, { view: describeSuite(suite), final });
      if (final) followed.delete(id);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) return;
      if (!failure.passing) followed.delete(id);
      // What was read before stays readable.
      const known = states.get(id);
      if (!known || !("view" in known)) states.set(id, { failure: failure.message });
    }
  }

  return {
    /** @type {ReadonlyMap<string, SuiteState>} */
    states,
    /** Whether one of them still has to be looked at. */
    areOpen: () => followed.size > 0,
    /**
     * @param {string} id
     * @param {boolean} open
     * @returns {boolean} whether it has to be loaded
     */
    toggled(id, open) {
      const known = states.get(id);
      const wanted = open && !(known && "view" in known && known.final);
      if (wanted) followed.add(id);
      else followed.delete(id);
      return wanted;
    },
    /** Loads what has to be looked at; never rejects for what the API answers. */
    refresh: async () => void (await Promise.all([...followed].map(refresh))),
  };
}
