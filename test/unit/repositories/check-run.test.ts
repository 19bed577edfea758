import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkRunParts, cutBytes } from "../../../src/repositories/github/check-run.ts";
import type { CommitState, NewCheckRun } from "../../../src/repositories/index.ts";

const annotations = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    path: "agents/ai-sdk/a.eval.yaml",
    line: n + 1,
    message: `case ${n}`,
    title: "a",
  }));

function check(state: CommitState, count: number, summary = "summary"): NewCheckRun {
  const report = { title: "1 of 2 passed", summary, annotations: annotations(count) };
  return {
    sha: "a".repeat(40),
    name: "Rollcall evals",
    state,
    detailsUrl: "https://x.test",
    report,
    id: undefined,
  };
}

const allParts = (run: NewCheckRun) => {
  const { first, rest } = checkRunParts(run);
  return [first, ...rest];
};

describe("checkRunParts", () => {
  it.each([
    ["pending", { status: "in_progress" }],
    ["success", { status: "completed", conclusion: "success" }],
    ["failure", { status: "completed", conclusion: "failure" }],
    ["error", { status: "completed", conclusion: "failure" }],
  ] as const)("a check that is %s is one call", (state, progress) => {
    expect(allParts(check(state, 1))).toEqual([
      {
        name: "Rollcall evals",
        head_sha: "a".repeat(40),
        details_url: "https://x.test",
        ...progress,
        output: {
          title: "1 of 2 passed",
          summary: "summary",
          annotations: [
            {
              path: "agents/ai-sdk/a.eval.yaml",
              start_line: 1,
              end_line: 1,
              annotation_level: "failure",
              message: "case 0",
              title: "a",
            },
          ],
        },
      },
    ]);
  });

  it.each([
    [0, [0]],
    [50, [50]],
    [51, [50, 1]],
    [150, [50, 50, 50]],
  ])("%i annotations go in batches, all of them, and the end comes with the last", (count, sizes) => {
    const parts = allParts(check("failure", count));
    expect(parts.map(({ output }) => output.annotations.length)).toEqual(sizes);
    expect(parts.flatMap(({ output }) => output.annotations.map((each) => each.start_line))).toEqual(
      annotations(count).map(({ line }) => line),
    );
    const statuses = parts.map(({ status }) => status);
    expect(statuses).toEqual([...sizes.slice(1).map(() => "in_progress"), "completed"]);
  });

  it("has no link when there is none", () => {
    expect(allParts({ ...check("success", 0), detailsUrl: undefined })[0]).not.toHaveProperty("details_url");
  });

  it("a summary is cut to the bytes that GitHub takes", () => {
    const [part] = allParts(check("success", 0, "🎉".repeat(30_000)));
    expect(Buffer.byteLength(part?.output.summary ?? "")).toBeLessThanOrEqual(65_535);
    expect(part?.output.summary).toMatch(/^(🎉)+…$/u);
  });
});

describe("cutBytes", () => {
  it("keeps as many whole characters as fit, and says that it cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 3, max: 40 }), (text, most) => {
        const cut = cutBytes(text, most);
        if (Buffer.byteLength(text) <= most) {
          expect(cut).toBe(text);
          return;
        }
        expect(cut.endsWith("…")).toBe(true);
        const kept = [...cut].slice(0, -1);
        expect([...text].slice(0, kept.length)).toEqual(kept);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most);
        const next = [...text][kept.length] ?? "";
        expect(Buffer.byteLength(cut) + Buffer.byteLength(next)).toBeGreaterThan(most);
      }),
    );
  });
});
