import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { caseLines } from "../../../src/agents/index.ts";

describe("caseLines", () => {
  it("finds the cases of a YAML file, whatever is between them", () => {
    const text = `# evals
cases:
  # the first
  - name: greets
    input: |
      - name: not a case
    assert: { contains: hi }

  -
    name: declines
    input: x
    judge: { rubric: y }
  - { name: short, input: x, assert: { equals: x } }
`;
    expect(caseLines(text, "yaml")).toEqual([4, 10, 13]);
    expect(caseLines(text.replaceAll("\n", "\r\n"), "yaml")).toEqual([4, 10, 13]);
    expect(caseLines(`\ufeff${text}`, "yaml")).toEqual([4, 10, 13]);
  });

  it("finds the cases of a JSON file", () => {
    expect(caseLines('{\n"cases": [\n{"name": "a"}, {\n"name": "b"},\n\n{}]}', "json")).toEqual([3, 3, 6]);
  });

  it.each([
    ["cases: [", "yaml"],
    ["cases: {a: 1}", "yaml"],
    ["- name: a", "yaml"],
    ["just text", "yaml"],
    ["", "yaml"],
    ["null", "json"],
    ['{"cases": 1}', "json"],
    ['{"cases": [{"name": "a"},]}', "json"],
  ] as const)("knows no lines of %j", (text, format) => {
    expect(caseLines(text, format)).toEqual([]);
  });

  it("points at the name of every case that is written in a list", () => {
    const name = fc.string({ minLength: 1, unit: "grapheme-ascii" });
    fc.assert(
      fc.property(fc.array(fc.record({ name, input: fc.string() })), (cases) => {
        const text = stringify({ cases }, { lineWidth: 0 });
        const lines = text.split("\n");
        const found = caseLines(text, "yaml").map((line) => lines[line - 1]?.trim().slice(0, 7));
        expect(found).toEqual(cases.map(() => "- name:"));
      }),
    );
  });
});
