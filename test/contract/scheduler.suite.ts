import { setTimeout as sleep } from "node:timers/promises";
import type { JobRepository } from "agenda";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WakeUps } from "../../src/platform/scheduler/index.ts";

/** A store and what can happen to it. Made before each test; `close` undoes it. */
export interface SchedulerHarness {
  /** Another process's wake-ups on the same store. */
  open(options?: { lockLifetimeMs?: number }): WakeUps;
  /** For looking at documents, and for locking one as a process does that dies afterwards. */
  repository: JobRepository;
  kind: "mongodb" | "sql";
  /** Every use of the store fails, until `back`. */
  away(): Promise<void>;
  back(): Promise<void>;
  /** The store loses everything, tables of indexes included where it has them. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const wakeJob = "wake-up";
const hour = 3_600_000;

/** Counts wake-ups; `next` settles with the moment of the next one that nobody has awaited yet. */
function createListener() {
  const moments: number[] = [];
  const waiting: ((moment: number) => void)[] = [];
  let taken = 0;
  return {
    moments,
    onWake: () => {
      moments.push(Date.now());
      waiting.shift()?.(Date.now());
    },
    next(): Promise<number> {
      const moment = moments[taken++];
      return moment === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(moment);
    },
  };
}

/** What wake-ups do alike, wherever their documents are. */
export function describeScheduler(name: string, createHarness: () => Promise<SchedulerHarness>): void {
  describe(`wake-ups on ${name}`, () => {
    let harness: SchedulerHarness;
    let opened: WakeUps[];

    beforeEach(async () => {
      harness = await createHarness();
      opened = [];
    });
    afterEach(async () => {
      await Promise.all(opened.map((each) => each.stop()));
      await harness.close();
    });

    const open = (options?: { lockLifetimeMs?: number }) => {
      const wakeUps = harness.open(options);
      opened.push(wakeUps);
      return wakeUps;
    };
    const openStarted = async (options?: { lockLifetimeMs?: number }) => {
      const wakeUps = open(options);
      const listener = createListener();
      await wakeUps.start(listener.onWake);
      return { wakeUps, ...listener };
    };
    const documents = async () => (await harness.repository.queryJobs({ name: wakeJob })).total;
    const noneLeft = () => vi.waitFor(async () => expect(await documents()).toBe(0), { timeout: 10_000 });
    /** Asks until the document is there, as the reconciler does. */
    const ensureUntilThere = (wakeUps: WakeUps, instants: number[]) =>
      vi.waitFor(
        async () => {
          await wakeUps.ensure(instants);
          expect(await documents()).toBe(instants.length);
        },
        { timeout: 15_000, interval: 200 },
      );

    it("wakes at an instant or after it, not before, and keeps nothing of it", async () => {
      const { wakeUps, moments, next } = await openStarted();
      const instants = [350, 650, 900].map((ms) => Date.now() + ms);
      await wakeUps.ensure(instants);
      for (const instant of instants) expect(await next()).toBeGreaterThanOrEqual(instant);
      await noneLeft();
      expect(moments).toHaveLength(3);
    });

    it("wakes soon for an instant that has passed, and again when it is asked for again", async () => {
      const { wakeUps, next } = await openStarted();
      const instant = Date.now() - hour;
      await wakeUps.ensure([instant]);
      await next();
      await wakeUps.ensure([instant]);
      await next();
    });

    it("wakes once for instants that share a bucket, also when two processes ensure them", async () => {
      const [first, second] = [await openStarted(), await openStarted()];
      const bucket = (Math.floor(Date.now() / 200) + 5) * 200;
      const instants = [bucket - 150, bucket - 20, bucket, bucket + 200, bucket + 390];
      await Promise.all([first.wakeUps.ensure(instants), second.wakeUps.ensure(instants)]);
      expect(await documents()).toBe(3);
      await noneLeft();
      expect(first.moments.length + second.moments.length).toBe(3);
    });

    it("wakes another process for one that only ensures", async () => {
      const { next } = await openStarted();
      const instant = Date.now() + 300;
      await open().ensure([instant]);
      expect(await next()).toBeGreaterThanOrEqual(instant);
    });

    it("wakes nobody in a process that has stopped", async () => {
      const stopped = await openStarted();
      const running = await openStarted();
      await stopped.wakeUps.stop();
      const instants = [300, 600, 900].map((ms) => Date.now() + ms);
      await stopped.wakeUps.ensure([Date.now() + hour]);
      await running.wakeUps.ensure(instants);
      for (const _ of instants) await running.next();
      await noneLeft();
      expect(stopped.moments).toEqual([]);
    });

    it("takes over what a process has locked that died, when its lock has run out", async () => {
      const instant = Date.now() + 100;
      await open().ensure([instant]);
      await vi.waitFor(async () => expect(await lockNext()).toBeDefined());
      const locked = Date.now();
      const { next } = await openStarted({ lockLifetimeMs: 700 });
      // The lock was set a moment before its time was taken here.
      expect(await next()).toBeGreaterThanOrEqual(locked + 700 - 100);
      await noneLeft();
    });
    const lockNext = () =>
      harness.repository.getNextJobToRun(wakeJob, new Date(Date.now() + 1_000), new Date(0), undefined, {});

    it("frees at its stop what it has taken and not begun, for another process", async () => {
      const instant = Date.now() + 700;
      const first = await openStarted();
      await first.wakeUps.ensure([instant]);
      await vi.waitFor(async () => {
        const { jobs } = await harness.repository.queryJobs({ name: wakeJob });
        expect(jobs[0]?.lockedAt).toBeDefined();
      });
      await first.wakeUps.stop();
      const { next } = await openStarted();
      expect(await next()).toBeGreaterThanOrEqual(instant);
      expect(first.moments).toEqual([]);
    });

    it("takes a thousand instants at once, and again without adding to them", async () => {
      const wakeUps = open();
      const from = Date.now() + hour;
      const instants = Array.from({ length: 1_000 }, (_, index) => from + index * 200);
      await wakeUps.ensure(instants);
      expect(await documents()).toBe(1_000);
      await Promise.all([wakeUps.ensure(instants), open().ensure(instants.slice(0, 200))]);
      expect(await documents()).toBe(1_000);
    });

    it("outlives what it starts failing, and does not keep the document", async () => {
      const wakeUps = open();
      const calls: number[] = [];
      await wakeUps.start(() => {
        calls.push(Date.now());
        throw new Error("The sweep fails, on purpose.");
      });
      await wakeUps.ensure([Date.now() + 100, Date.now() + 500]);
      await noneLeft();
      expect(calls).toHaveLength(2);
    });

    it("tells its state, starts, ensures and stops without its store, and throws nothing", async () => {
      await harness.away();
      const { wakeUps } = await openStarted();
      await wakeUps.ensure([Date.now() + 100]);
      expect(wakeUps.state()).toMatchObject({
        store: harness.kind,
        connected: false,
        error: expect.any(String),
      });
      await wakeUps.stop();
      await harness.back();
    });

    it("wakes again when its store is back, after a start without it", async () => {
      await harness.away();
      const { wakeUps, next } = await openStarted();
      await wakeUps.ensure([Date.now() + 100]);
      await harness.back();
      const waking = next();
      const asking = setInterval(() => void wakeUps.ensure([Date.now()]), 200);
      await waking;
      clearInterval(asking);
      expect(wakeUps.state()).toEqual({ store: harness.kind, connected: true });
    });

    it("rebuilds a store that was away and came back empty", async () => {
      const { wakeUps } = await openStarted();
      const instants = [Date.now() + hour, Date.now() + 2 * hour];
      await wakeUps.ensure(instants);
      await harness.away();
      await vi.waitFor(() => expect(wakeUps.state().connected).toBe(false), { timeout: 10_000 });
      await harness.back();
      await harness.empty();
      await ensureUntilThere(wakeUps, instants);
    });

    it("rebuilds a store that was emptied while it ran, in every process", async () => {
      const [first, second] = [open(), open()];
      const [one, two] = [Date.now() + hour, Date.now() + 2 * hour];
      await first.ensure([one, two]);
      await second.ensure([one, two]);
      await harness.empty();
      await ensureUntilThere(first, [one]);
      await ensureUntilThere(second, [one, two]);
    });

    it("knows before its first use no more than that, and afterwards that it is there", async () => {
      const wakeUps = open();
      expect(wakeUps.state()).toEqual({ store: harness.kind, connected: harness.kind === "sql" });
      await wakeUps.ensure([]);
      expect(wakeUps.state()).toEqual({ store: harness.kind, connected: true });
      await sleep(0);
      expect(await documents()).toBe(0);
    });
  });
}
