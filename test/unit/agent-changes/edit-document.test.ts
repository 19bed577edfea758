import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Edit, editDocument } from "../../../src/agent-changes/edit-document.ts";

const spec = `# Owned by the support team.
name: support   # as the file
framework: ai-sdk

# Cheap, and good enough.
model:   openai/gpt-5-mini
instructions: |
  Be polite.   # no comment, but text

  Answer in one sentence.
connections:
    # read only
    - CRM_FIND     # by e-mail
    - 'CRM_READ'
# shown in chat
labels: [ a,   b ]
parameters:
    maxSteps: 4 # enough
    # low, for the evals
    temperature: 0.1
`;

function edited(text: string, ...edits: Edit[]): string {
  const result = editDocument(text, "yaml", edits);
  if ("fault" in result) throw new Error(result.fault);
  return result.text;
}

/** Lines that are in one of the texts alone. */
function difference(before: string, after: string) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return {
    gone: old.filter((line) => !now.includes(line)),
    added: now.filter((line) => !old.includes(line)),
  };
}

describe("a change of a YAML text", () => {
  it("touches the line that it is about", () => {
    const after = edited(spec, { path: "model", value: "openai/gpt-5" });
    expect(difference(spec, after)).toEqual({
      gone: ["model:   openai/gpt-5-mini"],
      added: ["model: openai/gpt-5"],
    });
  });

  it("keeps the comments inside of what it changes", () => {
    const after = edited(
      spec,
      { path: "connections", value: ["CRM_FIND", "MAIL_SEND", "CRM_READ"] },
      { path: "parameters.maxSteps", value: 6 },
    );
    expect(difference(spec, after)).toEqual({
      gone: ["    - CRM_FIND     # by e-mail", "    maxSteps: 4 # enough"],
      added: ["    - CRM_FIND # by e-mail", "    - MAIL_SEND", "    maxSteps: 6 # enough"],
    });
    expect(parse(after).connections).toEqual(["CRM_FIND", "MAIL_SEND", "CRM_READ"]);
  });

  it("writes a long text as a block and leaves the text of others alone", () => {
    const after = edited(spec, { path: "instructions", value: "One.\nTwo: # three\n" });
    expect(after).toContain("instructions: |\n  One.\n  Two: # three\nconnections:");
    expect(parse(after)).toEqual({ ...parse(spec), instructions: "One.\nTwo: # three\n" });
  });

  it("adds keys at the end and removes them with what is said of them", () => {
    const after = edited(spec, { path: "labels" }, { path: "retries", value: 1 });
    expect(difference(spec, after)).toEqual({
      gone: ["# shown in chat", "labels: [ a,   b ]"],
      added: ["retries: 1"],
    });
    expect(after.endsWith("temperature: 0.1\nretries: 1\n")).toBe(true);
  });

  it("changes one case of an eval file and adds another", () => {
    const evals = `cases:
  # the usual
  - name: greets
    input: Hello   # short
    assert: { contains: hello }

  - name: stops
    input: Stop
    assert:
      max_chars: 20 # a line
`;
    const after = edited(
      evals,
      { path: "cases[1].assert.max_chars", value: 30 },
      { path: "cases[2]", value: { name: "new", input: "Hi", judge: { rubric: "kind" } } },
    );
    expect(parse(after).cases).toHaveLength(3);
    expect(difference(evals, after)).toMatchObject({
      gone: ["    input: Hello   # short", "      max_chars: 20 # a line"],
      added: [
        "    input: Hello # short",
        "      max_chars: 30 # a line",
        "  - name: new",
        "    input: Hi",
        "    judge:",
        "      rubric: kind",
      ],
    });
  });

  it("keeps windows line ends readable and an unusual layout whole", () => {
    const text = "name: a\r\nlabels:\r\n- x # one\r\n- y\r\n# end\r\n";
    const after = edited(text, { path: "labels[2]", value: "z" });
    expect(parse(after)).toEqual({ name: "a", labels: ["x", "y", "z"] });
    for (const comment of ["# one", "# end"]) expect(after.split(comment)).toHaveLength(2);
  });

  it.each([
    ["labels.x", "a list has numbers"],
    ["labels[7]", "the next one is [2]"],
    ["model.x", "a plain value above"],
    ["no way", "no place"],
    ["__proto__.a", "no place"],
    ["", "no place"],
  ])("refuses the place %j", (path, reason) => {
    expect(editDocument(spec, "yaml", [{ path, value: 1 }])).toEqual({
      fault: expect.stringContaining(reason),
    });
  });

  it("refuses a text that is no mapping", () => {
    for (const text of ["- a", "{ a: 1 }", "a: [", "", "just words"])
      expect(editDocument(text, "yaml", [{ path: "a", value: 1 }])).toHaveProperty("fault");
  });

  it("gives what was asked for and keeps each comment once, whatever the layout", () => {
    const value = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", " ", "\n", "#", ":", "-", "'", '"', "é") }),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 3 }),
    );
    const layout = fc.record({
      indent: fc.constantFrom("  ", "    "),
      dash: fc.constantFrom("", "  "),
      gap: fc.constantFrom("", "\n", "\n\n"),
      margin: fc.boolean(),
    });
    fc.assert(
      fc.property(
        layout,
        fc.constantFrom("a", "b", "c", "d"),
        value,
        ({ indent, dash, gap, margin }, key, to) => {
          const note = margin ? "# note 4\n" : `${indent}# note 4\n`;
          const text = `# note 1\na: 1 # note 2\n${gap}b:\n${dash}- x # note 3\n${dash}- y\n${gap}c:\n${indent}d: |\n${indent}  # text\n${indent}e: 'f'\n${note}d: "#" # note 5\n`;
          const after = edited(text, { path: key, value: to });
          expect(parse(after)).toEqual({ ...parse(text), [key]: to });
          for (const n of [1, 5, ...(key === "a" ? [] : [2]), ...(key === "b" ? [] : [3])])
            if (key !== "d" || n !== 5) expect(after.split(`# note ${n}`)).toHaveLength(2);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a change of a JSON text", () => {
  it("keeps the order of keys and the way it is indented", () => {
    const text = '{\n\t"name": "a",\n\t"labels": ["x"],\n\t"model": "m"\n}\n';
    const result = editDocument(text, "json", [
      { path: "labels[1]", value: "y" },
      { path: "model" },
      { path: "parameters.maxSteps", value: 2 },
    ]);
    expect(result).toEqual({
      text: '{\n\t"name": "a",\n\t"labels": [\n\t\t"x",\n\t\t"y"\n\t],\n\t"parameters": {\n\t\t"maxSteps": 2\n\t}\n}\n',
    });
  });

  it("refuses what is no JSON", () => {
    expect(editDocument("{", "json", [{ path: "a", value: 1 }])).toHaveProperty("fault");
  });
});
