import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TraceEvent } from "../../../src/frameworks/index.ts";
import { foldProgress } from "../../../src/runs/progress.ts";

const rows = (events: readonly TraceEvent[]) =>
  events.map(({ type, ...data }) => ({ type, data: JSON.stringify(data) }));
const fold = (...events: TraceEvent[]) => foldProgress(rows(events));

const usage = { input: 1, output: 1, cached: 0 };
const started = (step: number, node?: string): TraceEvent => ({
  type: "step.started",
  step,
  ...(node ? { node } : {}),
});
const said = (text: string, step = 1, node?: string): TraceEvent => ({
  ...{ type: "text.delta", text, step },
  ...(node ? { node } : {}),
});
const called = (tool: string, step = 1): TraceEvent => ({
  ...{ type: "tool.called", callId: "c", tool, args: {}, step },
});
const retried = (step = 1): TraceEvent => ({
  ...{ type: "model.retried", attempt: 1, waitMs: 5, code: "model_unavailable", step },
});
const finished = (step = 1): TraceEvent => ({
  ...{ type: "step.finished", text: "all of it", usage, durationMs: 1, step },
});

describe("the progress of a run", () => {
  it("is nothing before the first step", () => {
    expect(fold()).toEqual({ tools: [], text: "" });
  });

  it("has what was said in the step that goes on, until it ends", () => {
    expect(fold(started(1), said("Hel"), said("lo"))).toEqual({ tools: [], text: "Hello" });
    expect(fold(started(1), said("Hello"), finished())).toEqual({ tools: [], text: "" });
    expect(fold(started(1), said("Hello"), finished(), started(2))).toEqual({ tools: [], text: "" });
  });

  it("has the tools that were called in the step", () => {
    const both = fold(started(1), said("Wait"), called("A"), called("B"));
    expect(both).toEqual({ tools: ["A", "B"], text: "Wait" });
    expect(fold(started(1), called("A"), finished(), started(2), called("B", 2)).tools).toEqual(["B"]);
  });

  it("forgets what was said before the model was asked again", () => {
    expect(fold(started(1), said("Hal"), retried(), said("Hello")).text).toBe("Hello");
    // What is read may begin there.
    expect(fold(retried(), said("Hello")).text).toBe("Hello");
  });

  it("keeps the steps of parallel nodes apart", () => {
    const events = [started(1, "a"), said("one", 1, "a"), started(2, "b"), said("two", 2, "b")];
    expect(fold(...events, said(" more", 1, "a"), { ...finished(1), node: "a" }).text).toBe("two");
  });

  it("passes over data that was cut off, of which only the tool can be read", () => {
    const cut = (text: string) => JSON.stringify({ truncated: true, text });
    const events = [
      ...rows([started(1), said("Hello")]),
      { type: "text.delta", data: cut('{"text":"never ending') },
      { type: "tool.called", data: cut('{"step":1,"callId":"c","tool":"READ","args":{"path":"') },
      { type: "text.delta", data: "null" },
    ];
    expect(foldProgress(events)).toEqual({ tools: ["READ"], text: "Hello" });
  });

  it("is what was said since the newest beginning of the newest step, however it was cut into events", () => {
    const piece = fc.string({ maxLength: 5 });
    const before = fc.array(
      fc.oneof(
        piece.map((text) => said(text, 1, "a")),
        fc.constantFrom(started(1, "a"), { ...retried(1), node: "a" }, { ...finished(1), node: "a" }),
      ),
    );
    const other = fc.oneof(
      piece.map((text) => said(text, 1, "a")),
      fc.constant<TraceEvent>({ ...finished(1), node: "a" }),
    );
    const own = fc.array(fc.tuple(piece, fc.array(other, { maxLength: 2 })));
    fc.assert(
      fc.property(
        before,
        fc.constantFrom(started(2, "b"), { ...retried(2), node: "b" }),
        own,
        (past, begin, now) => {
          const events = [...past, begin, ...now.flatMap(([text, noise]) => [said(text, 2, "b"), ...noise])];
          expect(fold(...events)).toEqual({ tools: [], text: now.map(([text]) => text).join("") });
        },
      ),
    );
  });
});
