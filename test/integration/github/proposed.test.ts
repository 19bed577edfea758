import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createGitHubApp } from "../../../src/github/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createIds } from "../../../src/platform/ids.ts";
import type { Consider, Subject } from "../../../src/pull-requests/index.ts";
import { createLocalReader, RepositoryUnavailable } from "../../../src/repositories/index.ts";
import { useDatabase } from "../../support/databases.ts";
import { examplePayload, type Payload } from "../../support/github-payloads.ts";
import { createTestWorker } from "../../support/job-worker.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe("a delivery about a proposed commit", () => {
  const database = useDatabase("sqlite");

  /** Stores a delivery and has a worker work it off, time after time if it is to be tried again. */
  async function workOff(event: string, payload: Payload, consider: Consider | undefined) {
    const { db } = database;
    const { workspaceId, logger } = await setUpWorkspace(db);
    const { queue, worker, reached } = createTestWorker(db);
    const ids = createIds();
    const reader = {
      ...createLocalReader({ path: "/nowhere" }),
      label: payload.repository.full_name,
    };
    const { job } = createGitHubApp({
      ...{ db, ids, clock: systemClock, logger, queue, workspaceId, reader, consider },
      catalog: { request: () => Promise.reject(new Error("The catalog has no part in this.")) },
      branch: undefined,
      secret: undefined,
    });
    worker.define(job);
    worker.start();
    const id = ids("dlv");
    await db.transaction(async (tx) => {
      await tx("deliveries").insert({
        ...{
          id,
          workspace_id: workspaceId,
          source: "github",
          external_id: randomUUID(),
          event,
          state: "received",
        },
        ...{ payload: gzipSync(JSON.stringify(payload)), attempts: 0, received_at: Date.now() },
      });
      await queue.enqueue(tx, { kind: job.kind, payload: { deliveryId: id } });
    });
    return {
      reached,
      read: () => db.read("deliveries").where({ id }).first("state", "reason", "action", "attempts"),
      dueIn: async () => (await db.read("jobs").first("run_at")).run_at - Date.now(),
      async again() {
        await db.transaction((tx) => tx("jobs").update({ run_at: 0 }));
        queue.wake(job.kind);
      },
    };
  }

  const synchronize = () => examplePayload("pull-request-synchronize");

  it("has the pull request looked at", async () => {
    const subjects: Subject[] = [];
    const work = await workOff("pull_request", examplePayload("pull-request-opened"), async (subject) => {
      subjects.push(subject);
      return "1".repeat(40);
    });
    await work.reached("done", 1);
    expect(await work.read()).toEqual({ state: "done", reason: null, action: "opened", attempts: 1 });
    expect(subjects).toEqual([{ kind: "pull_request", number: 2 }]);
  });

  it("is ignored where pull requests are not evaluated", async () => {
    const work = await workOff("pull_request", synchronize(), undefined);
    await work.reached("done", 1);
    expect(await work.read()).toMatchObject({
      state: "ignored",
      reason: expect.stringContaining("not evaluated"),
    });
  });

  it("is tried again while GitHub shows the head before the push, but not for ever", async () => {
    const payload = synchronize();
    let asked = 0;
    const work = await workOff("pull_request", payload, async () => {
      asked += 1;
      return payload.before;
    });
    for (const count of [1, 2, 3]) {
      await work.reached("retried", count);
      await work.again();
    }
    await work.reached("done", 1);
    expect([asked, (await work.read()).state]).toEqual([4, "done"]);
  });

  it("is tried again while GitHub does not show the merge group's branch", async () => {
    const payload = examplePayload("merge-group-checks-requested");
    const answers = [undefined, payload.merge_group.head_sha];
    const work = await workOff("merge_group", payload, async () => answers.shift());
    await work.reached("retried", 1);
    await work.again();
    await work.reached("done", 1);
    expect(await work.read()).toMatchObject({ state: "done", attempts: 2 });
  });

  it("outlasts an hour without GitHub", async () => {
    const work = await workOff("pull_request", synchronize(), () => {
      return Promise.reject(new RepositoryUnavailable("GitHub is away.", "unreachable"));
    });
    const waits: number[] = [];
    for (const count of [1, 2, 3, 4, 5]) {
      await work.reached("retried", count);
      waits.push(await work.dueIn());
      await work.again();
    }
    await work.reached("done", 1);
    expect(await work.read()).toMatchObject({ state: "failed", reason: "GitHub is away.", attempts: 6 });
    expect(waits.reduce((sum, wait) => sum + wait)).toBeGreaterThan(3_600_000);
  });

  it("waits until GitHub can be asked again", async () => {
    const retryAt = Date.now() + 1_200_000;
    const work = await workOff("pull_request", synchronize(), () => {
      return Promise.reject(new RepositoryUnavailable("GitHub's limit.", "rate_limited", retryAt));
    });
    await work.reached("retried", 1);
    expect(await work.dueIn()).toBeGreaterThan(1_100_000);
  });
});
