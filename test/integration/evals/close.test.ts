import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createClosing } from "../../../src/evals/close.ts";
import type { EvalResult } from "../../../src/evals/store.ts";
import type { Tx } from "../../../src/platform/db/index.ts";
import { createRunSignals } from "../../../src/runs/index.ts";
import { startApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentWithEvals, evalText, postEval } from "../../support/eval-requests.ts";

const files = agentWithEvals("echo", [{ assert: { equals: "Hello" } }]);
const suiteOf = (count: number) =>
  evalText(...Array.from({ length: count }, () => ({ assert: { equals: "Hello" } })));
const result = (passed: boolean): EvalResult => ({
  passed,
  assertions: [],
  judgePassed: null,
  judgeReason: null,
  durationMs: 1,
  costUsd: 0,
});

/** Stores a result at an instant. */
const record = (tx: Tx, suiteId: string, runId: string, passed: boolean, now: number) =>
  createClosing({ clock: () => now, signals: createRunSignals(), suiteEnded: async () => {} }).record(
    tx,
    suiteId,
    { runId, result: result(passed) },
  );

/** A suite that no worker touches. */
async function openSuite(engine: "sqlite" | "mysql", count: number) {
  const app = await startApp({ engine, files, env: { ROLLCALL_ROLES: "web,scheduler" } });
  const id = await postEval(app, { agent: "echo", eval: suiteOf(count) });
  const runIds: string[] = await app.db
    .read("eval_runs")
    .where({ suite_id: id })
    .orderBy("case_index")
    .pluck("run_id");
  const suite = () => app.db.read("eval_suites").where({ id }).first();
  return { app, id, runIds, suite };
}

describe.each(databases())("closing a suite on %s", (engine) => {
  it("the last two results at once: the later one waits for the earlier one and closes", async () => {
    const { app, id, runIds, suite } = await openSuite(engine, 2);
    const [a = "", b = ""] = runIds;
    const stored = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const first = app.db.transaction(async (tx) => {
      await record(tx, id, a, true, 10);
      stored.resolve();
      await released.promise;
    });
    await stored.promise;
    const second = app.db.transaction((tx) => record(tx, id, b, true, 20));
    // Without a lock it would be done by now, and have seen one result only.
    await Promise.race([second, sleep(200)]);
    released.resolve();
    await Promise.all([first, second]);
    expect(await suite()).toMatchObject({ status: "passed", passed_count: 2, finished_at: 20 });
  });

  it("20 results at once, each twice: closed once, with the first of each", async () => {
    const { app, id, runIds, suite } = await openSuite(engine, 20);
    const recordNow = (runId: string, passed: boolean, now: number) =>
      app.db.transaction((tx) => record(tx, id, runId, passed, now));
    await Promise.all(
      runIds.slice(1).flatMap((runId) => [recordNow(runId, true, 1), recordNow(runId, true, 2)]),
    );
    expect(await suite()).toMatchObject({ status: "running", finished_at: null });
    await Promise.all(
      runIds.slice(0, 1).flatMap((runId) => [recordNow(runId, true, 3), recordNow(runId, true, 3)]),
    );
    expect(await suite()).toMatchObject({ status: "passed", passed_count: 20, finished_at: 3 });
    await recordNow(runIds[0] ?? "", false, 4);
    expect(await suite()).toMatchObject({ status: "passed", passed_count: 20, finished_at: 3 });
    expect(await app.db.read("eval_runs").where({ passed: 0 })).toEqual([]);
  });

  it("a transaction that is rolled back leaves no result and closes nothing", async () => {
    const { app, id, runIds, suite } = await openSuite(engine, 1);
    const failing = app.db.transaction(async (tx) => {
      await record(tx, id, runIds[0] ?? "", true, 10);
      throw new Error("The job was taken over.");
    });
    await expect(failing).rejects.toThrow("taken over");
    expect(await suite()).toMatchObject({ status: "queued", finished_at: null });
    expect(await app.db.read("eval_runs").whereNotNull("evaluated_at")).toEqual([]);
  });
});
