import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deriveAgents } from "../../../src/agents/derive-agents.ts";
import { deriveGroups } from "../../../src/agents/derive-groups.ts";
import { handoffsOf, handoffWarnings } from "../../../src/agents/handoffs.ts";
import { parseSpec } from "../../../src/agents/parse-spec.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";

const text = (name: string, handoffs: readonly string[]) =>
  `name: ${name}\nframework: openai-agents\nmodel: offline/echo\ninstructions: x\nhandoffs:\n${handoffs
    .map((each) => `  - ${each}\n`)
    .join("")}`;

const parse = (name: string, handoffs: readonly string[]) =>
  parseSpec({ content: text(name, handoffs), format: "yaml" }, frameworkSpecs);

const names = ["billing", "support", "sales"];

describe("handoffs of a spec", () => {
  test("are found with their places, in specs of frameworks that have them", () => {
    const parsed = parse("front", ["billing", "support"]);
    if (!parsed.spec) throw new Error(JSON.stringify(parsed.problems));
    expect(handoffsOf(parsed.spec)).toEqual(["billing", "support"]);
    expect(parsed.handoffs).toEqual([
      { name: "billing", path: "handoffs[0]", line: 6, column: 5 },
      { name: "support", path: "handoffs[1]", line: 7, column: 5 },
    ]);
    const other = parseSpec(
      { content: "name: a\nframework: ai-sdk\nmodel: offline/echo\ninstructions: x\n", format: "yaml" },
      frameworkSpecs,
    );
    expect(other).toMatchObject({ spec: { name: "a" }, handoffs: [] });
  });

  test("are warned of exactly when no run could be handed there", () => {
    const target = fc.record({
      framework: fc.constantFrom("openai-agents", "ai-sdk"),
      valid: fc.boolean(),
    });
    const known = fc.dictionary(fc.constantFrom(...names), target, { noNullPrototype: true });
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...names)), known, (handoffs, targets) => {
        const parsed = parse("front", handoffs);
        if (!parsed.spec) return handoffs.length === 0;
        const warnings = handoffWarnings("openai-agents", parsed.handoffs, new Map(Object.entries(targets)));
        const unfit = handoffs.flatMap((name, index) => {
          const { framework, valid } = targets[name] ?? {};
          return framework === "openai-agents" && valid ? [] : [6 + index];
        });
        expect(warnings.map(({ line }) => line)).toEqual(unfit);
        return true;
      }),
    );
  });

  test("do not depend on what is derived together", async () => {
    const agent = fc.tuple(fc.constantFrom(...names), fc.uniqueArray(fc.constantFrom(...names)));
    const files = fc.uniqueArray(agent, { selector: ([name]) => name }).map((agents) =>
      agents.map(([name, handoffs]) => ({
        path: `agents/openai-agents/${name}.yaml`,
        blobSha: name,
        content: { bytes: Buffer.from(text(name, handoffs)) },
      })),
    );
    await fc.assert(
      fc.asyncProperty(files, async (all) => {
        const together = deriveAgents(all, frameworkSpecs).agents;
        const apart = (await deriveGroups(all, frameworkSpecs)).agents;
        expect(apart.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(together);
      }),
    );
  });
});
