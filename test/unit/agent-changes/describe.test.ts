import fc from "fast-check";
import { expect, it } from "vitest";
import { branchOf, describeChange } from "../../../src/agent-changes/describe.ts";
import type { Draft, Evaluation } from "../../../src/agent-changes/schema.ts";
import type { ChangeRow } from "../../../src/agent-changes/store.ts";

const row = { id: "chg_01ABC", kind: "edit", agent: "greeter", requested_by: "otto" } as ChangeRow;
const draft: Draft = {
  files: [{ path: "agents/ai-sdk/greeter.yaml", text: "x" }],
  specText: "x",
  evalText: null,
  summary: "Kinder.",
  notes: [],
  suggestion: null,
  usage: { input: 0, output: 0, costUsd: 0 },
};
const evaluation: Evaluation = {
  status: "failed",
  passedCount: 0,
  totalCount: 1,
  cases: [{ name: "a | b", passed: false, judgePassed: null, detail: "`x` is missing" }],
};
const url = "http://rollcall.test/agent-changes/chg_01ABC";

it("names a branch after the change alone", () => {
  expect(branchOf(row)).toBe("rollcall/greeter-chg-01abc");
});

it("shows the evals as a table that nothing in it breaks", () => {
  const { body } = describeChange({ ...row, description: "x" }, draft, evaluation, url);
  expect(body).toContain("| `a ¦ b` | failed: `´x´ is missing` | – |");
});

it("says nothing in a commit's message that a host acts on", () => {
  const summary = [
    "Fixes #12, closes acme/agents#3 and resolves GH-4, see https://github.com/acme/agents/issues/5.",
    "Thanks to @octocat. [skip ci]",
  ].join("\n");
  const { message } = describeChange({ ...row, description: "x" }, { ...draft, summary }, evaluation, url);
  expect(message).toBe(
    "Change the agent greeter\n\n" +
      "Fixes no. 12, closes acme/agents no. 3 and resolves no. 4, see https:\n" +
      "github.com/acme/agents/issues/5.\n" +
      "Thanks to at octocat. (skip ci)\n\nRequested-by: otto\n",
  );
});

it("lets nothing that others wrote out of code", () => {
  const nasty = fc
    .array(
      fc.constantFrom(
        "@octocat",
        "![x](http://e)",
        "<b>",
        "`",
        "```",
        "\n",
        "\r",
        "\n\n",
        "# h",
        "|",
        " ",
        "\u2028",
        "#1",
      ),
      {
        maxLength: 20,
      },
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(nasty, nasty, nasty, (description, summary, name) => {
      const cases = evaluation.cases.map((each) => ({ ...each, name, detail: name }));
      const written = { ...draft, summary, notes: [name] };
      const { body, title, message } = describeChange(
        { ...row, description },
        written,
        { ...evaluation, cases },
        url,
      );
      const open = body
        .split(/[\n\r\u2028]/)
        .filter((line) => !line.startsWith("    "))
        .map((line) => line.replaceAll(/`[^`]*`/g, ""));
      expect(open.join("\n")).not.toMatch(/octocat|<b>|http:\/\/e|# h|#1|`/);
      expect(title).toBe("Change the agent greeter");
      expect(message.endsWith("\n\nRequested-by: otto\n")).toBe(true);
    }),
  );
});
