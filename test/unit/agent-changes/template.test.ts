import fc from "fast-check";
import { expect, it } from "vitest";
import { templateEvals, templateSpec } from "../../../src/agent-changes/template.ts";
import { parseEvalFile } from "../../../src/agents/index.ts";
import { parseSpec } from "../../../src/agents/parse-spec.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";

const place = { name: "a", framework: "ai-sdk", model: "offline/echo" };

it("is a valid spec and eval file, whatever the description", () => {
  const unit = fc.oneof(
    fc.constantFrom("\n", "\r\n", "#", ": ", "- ", "'", '"', "|", "{", "\t", "\u0007", "\u2028"),
    fc.string(),
  );
  const descriptions = fc
    .array(unit, { minLength: 1, maxLength: 30 })
    .map((parts) => parts.join("").toWellFormed().replaceAll("\0", ""))
    .filter((text) => text.trim() !== "");
  fc.assert(
    fc.property(descriptions, (description) => {
      const content = templateSpec({ ...place, description });
      const { problems } = parseSpec({ content, format: "yaml", ...place }, frameworkSpecs);
      expect(problems).toEqual([]);
      expect(parseEvalFile(templateEvals({ description }), "yaml").problems).toEqual([]);
    }),
  );
});
