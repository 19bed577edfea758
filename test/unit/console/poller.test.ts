import { expect, it } from "vitest";
import { createPoller, patience } from "../../../src/console/assets/poller.js";

interface Look {
  again: boolean;
  changed: boolean;
  waitMs?: number;
}

/** A poller whose time passes when the test says so. Looks are answered from a list; the last answer stays. */
function startPoller(...answers: Look[]) {
  let time = 0;
  let hidden = false;
  let looks = 0;
  let timer: { at: number; work: () => void } | undefined;
  const poller = createPoller({
    async look() {
      const answer = answers[Math.min(looks, answers.length - 1)];
      looks += 1;
      return answer ?? { again: false, changed: false };
    },
    isHidden: () => hidden,
    now: () => time,
    setTimer(work, ms) {
      timer = { at: time + ms, work };
      return 1;
    },
    clearTimer() {
      timer = undefined;
    },
  });
  return {
    poller,
    looks: () => looks,
    /** Milliseconds until the next look; undefined when none is coming. */
    next: () => timer && timer.at - time,
    show(visible: boolean) {
      hidden = !visible;
      poller.visibilityChanged();
    },
    async pass(ms: number) {
      time += ms;
      if (!timer || timer.at > time) return;
      timer.work();
      // The look's promise and what follows it.
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    },
  };
}

const unchanged = { again: true, changed: false };

it("waits longer the longer nothing happens, at most half a minute", () => {
  const waits = [0, 1, 2, 5, 6, 7, 50].map(patience);
  expect(waits).toEqual([2_000, 3_000, 4_500, 15_188, 22_781, 30_000, 30_000]);
});

it("looks at once, then seldom, and soon again after a change", async () => {
  const { poller, next, pass, looks } = startPoller(unchanged, unchanged, { again: true, changed: true });
  await poller.now();
  expect(next()).toBe(3_000);
  await pass(3_000);
  expect(next()).toBe(4_500);
  await pass(4_500);
  expect([next(), looks()]).toEqual([2_000, 3]);
});

it("ends with what is final, until somebody asks", async () => {
  const { poller, next, looks } = startPoller({ again: false, changed: true });
  await poller.now();
  expect(next()).toBeUndefined();
  await poller.now();
  expect([next(), looks()]).toEqual([undefined, 2]);
});

it("waits at least as long as it is told", async () => {
  const { poller, next } = startPoller({ again: true, changed: false, waitMs: 45_000 });
  await poller.now();
  expect(next()).toBe(45_000);
});

it("does nothing while nobody sees the page, and then what is due", async () => {
  const { poller, next, show, pass, looks } = startPoller(unchanged);
  await poller.now();
  await pass(1_000);
  show(false);
  expect(next()).toBeUndefined();
  show(true);
  expect(next()).toBe(2_000);
  show(false);
  await pass(60_000);
  expect(looks()).toBe(1);
  show(true);
  expect(next()).toBe(0);
  await pass(0);
  expect(looks()).toBe(2);
});

it("begins no look when a page is shown that waits for nothing", async () => {
  const { poller, next, show } = startPoller({ again: false, changed: true });
  await poller.now();
  show(false);
  show(true);
  expect(next()).toBeUndefined();
});

it("plans nothing after it was stopped in the middle of a look", async () => {
  const { poller, next } = startPoller(unchanged);
  const looking = poller.now();
  poller.stop();
  await looking;
  expect(next()).toBeUndefined();
});

it("plans once when two looks overlap", async () => {
  const { poller, next, pass, looks } = startPoller(unchanged);
  await Promise.all([poller.now(), poller.now()]);
  expect([next(), looks()]).toEqual([3_000, 2]);
  await pass(3_000);
  expect(looks()).toBe(3);
});
