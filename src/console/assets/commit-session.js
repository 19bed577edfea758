/**
 * @import { HeadRecord } from "./records.d.ts"
 * @import { Frame } from "./page-frame.js"
 * @import { Refusal } from "./render.js"
 */
import { ApiFailure, createApi } from "./api.js";
import { describeHead, describeState, isSettled } from "./describe-head.js";
import { h, morphChildren } from "./element.js";
import { createOpenedSuites } from "./opened-suites.js";
import { say } from "./page-frame.js";
import { createPoller, pageTimers } from "./poller.js";
import { renderHead } from "./render.js";

/**
 * Shows the heads of a commit with one key, until `end`.
 * @param {object} options
 * @param {string} options.sha
 * @param {string} options.key
 * @param {Frame} options.frame
 * @param {(sentence: string) => void} options.rejected called when the API does not accept the key
 */
export function startSession({ sha, key, frame, rejected }) {
  const ended = new AbortController();
  const api = createApi({ base: new URL("../api/v1/", import.meta.url), key, signal: ended.signal, fetch });
  const suites = createOpenedSuites({ load: api.suite, failureOf });
  const approvals = createApprovals();
  const poller = createPoller({ look, isHidden: () => document.hidden, ...pageTimers });
  /** @type {HeadRecord[]} */
  let heads = [];

  /** @param {unknown} error */
  function failureOf(error) {
    if (ended.signal.aborted) return undefined;
    if (!(error instanceof ApiFailure)) throw error;
    if (error.status !== 401) return error;
    rejected(error.message);
    return undefined;
  }

  function draw() {
    const sections = heads.map((head) =>
      renderHead(describeHead(head), { suites: suites.states, ...approvals.of(head.number) }),
    );
    const focused = document.activeElement;
    morphChildren(frame.heads, h("div", {}, ...sections));
    // Those who use a keyboard would begin anew at the top when what they were at disappears.
    if (focused && !focused.isConnected) frame.title.focus({ preventScroll: true });
  }

  async function look() {
    try {
      const [found] = await Promise.all([api.heads(sha), suites.refresh()]);
      if (ended.signal.aborted) return { again: false, changed: false };
      const changed = JSON.stringify(found) !== JSON.stringify(heads);
      heads = found;
      draw();
      say(frame, describeState(heads));
      document.title = `${describeState(heads)} ${sha.slice(0, 12)} – Rollcall`;
      frame.looked.textContent = `Looked at ${new Date().toLocaleTimeString()}`;
      return { again: suites.areOpen() || !heads.every(isSettled), changed };
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) return { again: false, changed: false };
      say(frame, failure.message);
      frame.looked.textContent = failure.passing ? "Looks again by itself." : "";
      return { again: failure.passing, changed: false, waitMs: failure.retryAfterMs };
    }
  }

  /** @param {number} number */
  async function approve(number) {
    if (!approvals.begin(number)) return;
    draw();
    try {
      await api.approve(number, sha);
      approvals.end(number, undefined);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) return;
      approvals.end(number, { sentence: failure.message, final: failure.status === 403 });
    }
    draw();
    await poller.now();
  }

  void poller.now();
  return {
    look: poller.now,
    approve,
    visibilityChanged: poller.visibilityChanged,
    /**
     * @param {string} id
     * @param {boolean} open
     */
    suiteToggled: (id, open) => void (suites.toggled(id, open) && poller.now()),
    end() {
      ended.abort();
      poller.stop();
    },
  };
}

/** Which approvals are under way, and why others were refused; by the pull request's number. */
function createApprovals() {
  /** @type {Set<number>} */
  const underWay = new Set();
  /** @type {Map<number, Refusal>} */
  const refusals = new Map();
  return {
    /**
     * @param {number} number
     * @returns {boolean} false when one is under way already
     */
    begin(number) {
      if (underWay.has(number)) return false;
      refusals.delete(number);
      underWay.add(number);
      return true;
    },
    /**
     * @param {number} number
     * @param {Refusal | undefined} refusal
     */
    end(number, refusal) {
      underWay.delete(number);
      if (refusal) refusals.set(number, refusal);
    },
    /** @param {number | null} number null for a merge group, which nobody has to approve */
    of: (number) =>
      number === null
        ? { approving: false, refusal: undefined }
        : { approving: underWay.has(number), refusal: refusals.get(number) },
  };
}
