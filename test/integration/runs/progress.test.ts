import { describe, expect, it } from "vitest";
import { foldProgress } from "../../../src/runs/progress.ts";
import { eventRow, newestStepEvents } from "../../../src/runs/store.ts";
import { databases, useDatabase } from "../../support/databases.ts";

describe.each(databases())("events of a run's newest step on %s", (engine) => {
  const database = useDatabase(engine);

  /** Stores events of an attempt, as [type, data], in order. */
  const keep = (run_id: string, attempt: number, events: [string, object][]) =>
    database.db.commit({
      rows: events.map(([type, data], index) =>
        eventRow({ run_id, attempt, seq: index + 1, type, data: JSON.stringify(data), at: 0 }),
      ),
    });
  const progress = async (runId: string) => foldProgress(await newestStepEvents(database.db.read, runId));

  it("are those of the newest attempt, from the step's beginning on", async () => {
    expect(await progress("run_1")).toEqual({ tools: [], text: "" });
    await keep("run_1", 1, [
      ["run.started", {}],
      ["step.started", { step: 1 }],
      ["text.delta", { step: 1, text: "old" }],
    ]);
    await keep("run_2", 1, [
      ["step.started", { step: 1 }],
      ["text.delta", { step: 1, text: "another's" }],
    ]);
    expect(await progress("run_1")).toEqual({ tools: [], text: "old" });
    await keep("run_1", 2, [["run.started", {}]]);
    expect(await progress("run_1")).toEqual({ tools: [], text: "" });
    await keep("run_1", 3, [
      ["run.started", {}],
      ["step.started", { step: 1 }],
      ["text.delta", { step: 1, text: "first" }],
      ["step.finished", { step: 1, text: "first" }],
      ["step.started", { step: 2 }],
      ["text.delta", { step: 2, text: "void" }],
      ["model.retried", { step: 2 }],
      ["text.delta", { step: 2, text: "second" }],
      ["tool.called", { step: 2, tool: "A" }],
      ["tool.finished", { step: 2, tool: "A", result: "a whole file" }],
    ]);
    expect(await progress("run_1")).toEqual({ tools: ["A"], text: "second" });
    const events = await newestStepEvents(database.db.read, "run_1");
    expect(events.map(({ type }) => type)).toEqual(["model.retried", "text.delta", "tool.called"]);
  });

  it("are a thousand at the most, the first of them", async () => {
    const deltas = Array.from({ length: 1_500 }, (_, n): [string, object] => [
      "text.delta",
      { step: 1, text: `${n} ` },
    ]);
    await keep("run_1", 1, [["step.started", { step: 1 }], ...deltas]);
    expect(await newestStepEvents(database.db.read, "run_1")).toHaveLength(1_000);
    expect((await progress("run_1")).text).toMatch(/^0 1 2 .* 998 $/);
  });
});
