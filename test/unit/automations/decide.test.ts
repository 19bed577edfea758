import { describe, expect, it } from "vitest";
import { type Circumstances, decide, retryMs, stateAfter } from "../../../src/automations/decide.ts";

const version = { version: "draft", framework: "ai-sdk", specSha: "s", commitSha: "c", connections: [] };
const row = { owner: "olga", overlap: "skip", attempts: 0 } as const;
const usual: Circumstances = {
  settled: false,
  ownerRole: "operator",
  busy: false,
  target: { kind: "ready", version },
  random: 0,
};
const away = { kind: "away", reason: "Away.", diagnostics: undefined } as const;
const broken = {
  kind: "broken",
  failureCode: "invalid_spec",
  reason: "No.",
  diagnostics: undefined,
} as const;

describe("what is done about an occurrence", () => {
  it.each([
    ["fired", {}],
    ["fired", { ownerRole: "workspace_admin" }],
    ["blocked", { ownerRole: "viewer" }],
    ["blocked", { ownerRole: undefined, busy: true, target: broken }],
    ["settled", { settled: true, ownerRole: undefined }],
    ["skipped", { busy: true, target: broken }],
    ["retrying", { target: away }],
    ["error", { target: broken }],
  ] satisfies [string, Partial<Circumstances>][])("%s: %j", (kind, circumstances) => {
    expect(decide(row, { ...usual, ...circumstances }).kind).toBe(kind);
  });

  it.each([
    ["skip", "skipped"],
    ["queue", "queued"],
    ["allow", "fired"],
  ] as const)("with overlap %s while the run before is under way: %s", (overlap, kind) => {
    expect(decide({ ...row, overlap }, { ...usual, busy: true }).kind).toBe(kind);
  });

  it("waits 30 s, doubling up to 15 minutes, up to a fifth less", () => {
    const seconds = (random: number) => [1, 2, 3, 4, 5, 6, 100].map((n) => retryMs(n, random) / 1_000);
    expect(seconds(0)).toEqual([30, 60, 120, 240, 480, 900, 900]);
    expect(seconds(1)).toEqual([24, 48, 96, 192, 384, 720, 720]);
  });
});

describe("the state afterwards", () => {
  const before = {
    ...{ paused_reason: null, error_reason: "No.", waiting_reason: "Away.", attempts: 3, failing: 1 },
    ...{ next_run_at: 1_000, due_at: 5_000, last_fire_at: 1, last_run_id: "run_0" },
  };
  const stateOf = (...args: Parameters<typeof decide>) =>
    stateAfter(before, decide(...args), { next: 9_000, now: 6_000, runId: "run_1" });

  it("a run that is queued clears everything", () => {
    expect(stateOf(row, usual)).toEqual({
      ...{ paused_reason: null, error_reason: null, waiting_reason: null, attempts: 0, failing: 0 },
      ...{ next_run_at: 9_000, due_at: 9_000, last_fire_at: 6_000, last_run_id: "run_1" },
    });
  });

  it("what is skipped or settled clears no Error", () => {
    for (const circumstances of [{ busy: true }, { settled: true }])
      expect(stateOf(row, { ...usual, ...circumstances })).toMatchObject({
        ...{ error_reason: "No.", failing: 1, next_run_at: 9_000, last_run_id: "run_0", attempts: 0 },
      });
  });

  it("what waits keeps its occurrence", () => {
    expect(stateOf({ ...row, attempts: 3 }, { ...usual, target: away })).toMatchObject({
      ...{ next_run_at: 1_000, due_at: 6_000 + 240_000, attempts: 4, error_reason: "No." },
    });
    expect(stateOf({ ...row, overlap: "queue" }, { ...usual, busy: true })).toMatchObject({
      ...{ next_run_at: 1_000, due_at: 11_000, attempts: 0, error_reason: "No.", failing: 1 },
    });
  });

  it("what is blocked has no next occurrence", () => {
    expect(stateOf(row, { ...usual, ownerRole: undefined })).toMatchObject({
      ...{ paused_reason: expect.any(String), next_run_at: null, due_at: null, error_reason: "No." },
    });
  });
});
