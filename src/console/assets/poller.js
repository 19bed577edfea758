/** Milliseconds: the first wait, and the longest that patience grows to. */
const shortest = 2_000;
const longest = 30_000;

/**
 * How long to wait before the next look.
 * @param {number} quiet looks in a row that brought nothing new
 * @returns {number} milliseconds
 */
export function patience(quiet) {
  return Math.min(longest, Math.round(shortest * 1.5 ** quiet));
}

/**
 * Looks again and again, seldom when nothing changes and never while nobody sees the page.
 * @param {object} deps
 * @param {() => Promise<{ again: boolean, changed: boolean, waitMs?: number | undefined }>} deps.look never rejects;
 *   `waitMs` is the least to wait
 * @param {() => boolean} deps.isHidden
 * @param {() => number} deps.now milliseconds
 * @param {(work: () => void, ms: number) => number} deps.setTimer
 * @param {(timer: number) => void} deps.clearTimer
 */
export function createPoller({ look, isHidden, now, setTimer, clearTimer }) {
  /** @type {number | undefined} */
  let timer;
  /** When the next look is due; undefined when none is wanted or one is under way. @type {number | undefined} */
  let due;
  let quiet = 0;
  let round = 0;

  function pause() {
    if (timer !== undefined) clearTimer(timer);
    timer = undefined;
  }

  function arm() {
    pause();
    if (due !== undefined && !isHidden()) timer = setTimer(() => void run(), Math.max(0, due - now()));
  }

  async function run() {
    pause();
    due = undefined;
    round += 1;
    const mine = round;
    const { again, changed, waitMs = 0 } = await look();
    // Another look began meanwhile, or nobody wants one any more.
    if (mine !== round) return;
    quiet = changed ? 0 : quiet + 1;
    due = again ? now() + Math.max(waitMs, patience(quiet)) : undefined;
    arm();
  }

  return {
    /** Looks now, and soon again if that brings nothing final. */
    now() {
      quiet = 0;
      return run();
    },
    stop() {
      round += 1;
      due = undefined;
      pause();
    },
    /** To be called when the page is hidden or shown. */
    visibilityChanged: arm,
  };
}

/** The clock and timers of a page. */
export const pageTimers = {
  now: () => performance.now(),
  setTimer: (/** @type {() => void} */ work, /** @type {number} */ ms) => window.setTimeout(work, ms),
  clearTimer: (/** @type {number} */ timer) => window.clearTimeout(timer),
};
