import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportOn } from "../../../src/pull-requests/report.ts";
import { agentRow, brokenAgent, failing, judgedAgent, judgedHead, passing, suite, verdict } from "./heads.ts";

const base = verdict([passing("polite"), failing("short"), passing("kind")], { evalId: "eval_1" });
const refunds = judgedAgent(
  {},
  {
    base,
    verdict: verdict([
      failing("polite", "The output does not contain `please`."),
      failing("short"),
      { ...passing("kind"), judgePassed: false },
    ]),
  },
);

describe("reportOn", () => {
  it("compares head with base in a table and lists what failed", () => {
    const fine = judgedAgent(
      { agent: "hello" },
      { verdict: verdict([passing("a"), passing("b")], { cached: true }) },
    );
    const plain = judgedAgent({ agent: "plain", outcome: "no_evals", suite_id: null });
    const { title, summary } = reportOn([judgedHead([fine, plain, refunds])]);
    expect(title).toBe("1 of 2 agents passed");
    expect(summary.split("\n")).toEqual([
      "| Agent | Base | Head |",
      "| --- | --- | --- |",
      "| `hello` | – | 2/2 (cached) |",
      "| `plain` | – | no evals |",
      "| `refunds` | 2/3 | 1/3 |",
      "",
      "**`refunds`**",
      "",
      "- `polite` failed, **passed on the base**: `The output does not contain ´please´.`",
      "- `short` failed: `The output is wrong.`",
      "- For information, the judge's opinion: 0 of 1 good; not `kind`.",
    ]);
  });

  it("puts a remark at the line of each case that failed", () => {
    expect(reportOn([judgedHead([refunds])]).annotations).toEqual([
      {
        path: "agents/ai-sdk/refunds.eval.yaml",
        line: 2,
        title: "refunds: polite",
        message: "The output does not contain `please`. It passed on the base.",
      },
      {
        path: "agents/ai-sdk/refunds.eval.yaml",
        line: 5,
        title: "refunds: short",
        message: "The output is wrong.",
      },
    ]);
  });

  it("puts a remark at the line where a file is not valid, and names it", () => {
    const { title, summary, annotations } = reportOn([judgedHead([brokenAgent()])]);
    expect(title).toBe("0 of 1 agent passed");
    expect(summary).toContain("| `broken` | – | spec not valid |");
    expect(summary).toContain("- `agents/ai-sdk/broken.yaml`, line 3: `´model´ is missing.`");
    expect(annotations).toEqual([
      {
        path: "agents/ai-sdk/broken.yaml",
        line: 3,
        title: "broken is not valid",
        message: "`model` is missing.",
      },
    ]);
  });

  it("says the same as long as evals run", () => {
    const open = judgedAgent({ agent: "slow" }, { own: suite("running") });
    const reports = [
      [open, judgedAgent({}, { own: suite("queued") })],
      [open, judgedAgent({}, { own: suite("passed"), verdict: verdict([passing("a")]) })],
      [open, refunds],
    ].map((agents) => JSON.stringify(reportOn([judgedHead(agents)])));
    expect(new Set(reports).size).toBe(1);
    expect(JSON.parse(reports[0] ?? "")).toMatchObject({ title: "Evals are under way", annotations: [] });
  });

  it("says the same when one of several heads has ended", () => {
    const open = judgedHead([judgedAgent({ agent: "slow" }, { own: suite("running") })], { id: "prh_2" });
    const own = suite("running");
    const reports = [judgedHead([judgedAgent({}, { own })]), judgedHead([refunds])].map((head) =>
      JSON.stringify(reportOn([head, open])),
    );
    expect(new Set(reports).size).toBe(1);
  });

  it("tells of each of several heads, and remarks on a file once", () => {
    const other = judgedHead([refunds], { number: 0, merge_branch: "queue", base_ref: "next" });
    const { summary, annotations } = reportOn([judgedHead([refunds]), other]);
    expect(summary).toContain("### Pull request 7 into `main`");
    expect(summary).toContain("### Merge group into `next`");
    expect(annotations).toHaveLength(2);
  });

  it("says why there is nothing to show", () => {
    expect(reportOn([judgedHead([])])).toMatchObject({
      title: "Nothing to evaluate",
      summary: "No agents changed.",
    });
    const failed = judgedHead([], { state: "error", reason: "The commit is not known." });
    expect(reportOn([failed])).toMatchObject({
      title: "The evals could not be run",
      summary: "`The commit is not known.`",
    });
  });

  it("shows text of others only inside code spans, one to a cell", () => {
    const hostile = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.constantFrom(
        "@acme/everyone",
        "a | b",
        "` @team `",
        "``` \n# Title\n```",
        "<img src=x onerror=alert(1)>",
        "[link](https://evil.example)",
        "#1 deadbeef",
        "\r\n| --- |\n",
        "\\`@team\\`",
        "",
      ),
    );
    fc.assert(
      fc.property(hostile, hostile, hostile, (agent, name, detail) => {
        const cases = [failing(name, detail), { ...passing(detail), judgePassed: false }];
        const { summary } = reportOn([
          judgedHead([judgedAgent({ agent }, { verdict: verdict(cases), base: verdict([passing(name)]) })]),
        ]);
        // What is left without the spans is this service's own words.
        const own = summary.replaceAll(/`[^`\n]+`/g, "X").split("\n");
        expect(own).toEqual([
          "| Agent | Base | Head |",
          "| --- | --- | --- |",
          "| X | 1/1 | 1/2 |",
          "",
          "**X**",
          "",
          "- X failed, **passed on the base**: X",
          "- For information, the judge's opinion: 0 of 1 good; not X.",
        ]);
        expect(summary.split("\n")[2]?.split("|")).toHaveLength(5);
      }),
    );
  });

  it("stays within 65,000 bytes and 250 remarks, and counts what is left out", () => {
    const cases = Array.from({ length: 20 }, (_, index) =>
      failing(`${index} ${"ü".repeat(190)}`, "ö".repeat(900)),
    );
    const agents = Array.from({ length: 200 }, (_, index) =>
      judgedAgent({ ...agentRow(), agent: `agent-${index}` }, { verdict: verdict(cases) }),
    );
    const { summary, annotations } = reportOn([judgedHead(agents)]);
    expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(65_000);
    expect(summary).toMatch(/\n\d+ more lines are left out\.$/);
    expect(summary).toContain("| `agent-199` |");
    expect(annotations).toHaveLength(250);
    expect(Math.max(...annotations.map(({ message }) => message.length))).toBeLessThanOrEqual(1_000);
  });
});
