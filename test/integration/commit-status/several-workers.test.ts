import { describe, expect, it } from "vitest";
import { databases, useDatabase } from "../../support/databases.ts";
import { gate } from "../../support/job-worker.ts";
import { openConnections } from "../../support/workspace.ts";
import {
  createMemoryHost,
  passed,
  type Service,
  someSha,
  startService,
  wanted,
} from "./commit-status-service.ts";

describe.each(databases())("statuses that several workers post on %s", (engine) => {
  const database = useDatabase(engine);
  const jobs = () => database.db.read("jobs");
  const row = () => database.db.read("commit_statuses").first();

  async function startTwo() {
    const host = createMemoryHost();
    const worker = { pollMs: 20, sweepMs: 20 };
    const first = await startService(database.db, { host });
    const start = (): Promise<Service> =>
      startService(database.db, { host, workspaceId: first.workspaceId, worker });
    return { host, first, start };
  }

  it("are posted once each, though two workers look for the same jobs", async () => {
    const { host, first, start } = await startTwo();
    const second = await start();
    await openConnections(database.db);
    const shas = Array.from({ length: 25 }, (_, n) => n.toString(16).padStart(40, "0"));
    for (const state of ["pending", "success"] as const) {
      await Promise.all(shas.map((sha, n) => (n % 2 ? first : second).want(wanted({ sha, state }))));
      await expect.poll(jobs, { timeout: 15_000 }).toEqual([]);
    }
    for (const { length } of [host.statuses, host.checkRuns]) expect(length).toBe(50);
    for (const sha of shas) {
      const posted = host.statuses.filter((each) => each.sha === sha);
      expect(posted.map(({ state }) => state)).toEqual(["pending", "success"]);
    }
    // A worker tells of a job after it is gone.
    await expect.poll(() => first.outcomes.length + second.outcomes.length).toBe(50);
  });

  it("end with the newest state, although a worker that had lost the job posted an older one after it", async () => {
    const { host, first, start } = await startTwo();
    const stuck = gate();
    const late = gate();
    host.onStatus = ({ state }) => {
      if (state !== "pending") return;
      stuck.resolve();
      return late.promise;
    };
    await first.want(wanted());
    await stuck.promise;
    await first.want(passed());
    await database.db.transaction((tx) => tx("jobs").update({ lease_until: 1 }));
    const second = await start();
    await second.reached("done", 1);
    expect((await second.post())?.state).toBe("posted");
    late.resolve();
    await first.reached("lost", 1);
    await expect.poll(jobs, { timeout: 15_000 }).toEqual([]);
    expect(host.statuses.map(({ state }) => state)).toEqual(["success", "pending", "success"]);
    expect(await row()).toMatchObject({ sha: someSha, revision: 3, post_state: "posted", sweep_at: null });
  });

  it("are not posted by a worker that lost the job before it came to that", async () => {
    const host = createMemoryHost();
    const asked = gate();
    const answer = gate<boolean>();
    const isHead = () => {
      asked.resolve();
      return answer.promise;
    };
    const first = await startService(database.db, { host, isHead, worker: { renewMs: 20 } });
    await first.want(wanted());
    await asked.promise;
    const given = { state: "queued", claim: null, lease_until: null };
    await database.db.transaction((tx) => tx("jobs").update(given));
    const worker = { pollMs: 20 };
    const second = await startService(database.db, { host, workspaceId: first.workspaceId, worker });
    await second.reached("done", 1);
    // The first one's next renewal tells it.
    await expect.poll(() => first.signals[0]?.aborted, { timeout: 15_000 }).toBe(true);
    answer.resolve(true);
    await first.reached("lost", 1);
    expect(host.statuses).toHaveLength(1);
    expect((await row()).revision).toBe(1);
  });
});
