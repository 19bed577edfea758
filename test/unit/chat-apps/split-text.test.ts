import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitText } from "../../../src/chat-apps/platforms/slack/split-text.ts";

const fences = (text: string) => text.split("```").length - 1;

describe("splitting an answer", () => {
  it("leaves a short one as it is", () => {
    expect(splitText("Hello\n\nyou", 100)).toEqual(["Hello\n\nyou"]);
    expect(splitText("", 100)).toEqual([""]);
  });

  it("cuts at ends of lines, else at spaces", () => {
    const lines = ["a".repeat(40), "b".repeat(40), "c".repeat(40)];
    expect(splitText(lines.join("\n"), 100)).toEqual([lines.slice(0, 2).join("\n"), lines[2]]);
    const words = Array.from({ length: 30 }, (_, n) => `word${n}`).join(" ");
    const parts = splitText(words, 100);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.join(" ")).toBe(words);
  });

  it("closes a code block at the end of a part and opens it again in the next", () => {
    const code = Array.from({ length: 12 }, (_, n) => `line number ${n}`);
    const parts = splitText(["Look:", "```", ...code, "```", "Done."].join("\n"), 100);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(fences(part) % 2, part).toBe(0);
    expect(parts.join("\n").replaceAll("```\n", "").replaceAll("\n```", "")).toBe(
      ["Look:", ...code, "Done."].join("\n"),
    );
  });

  it("cuts no escaped character and no surrogate pair", () => {
    for (let lead = 0; lead < 6; lead++) {
      for (const atom of ["&amp;", "😀"]) {
        const text = "x".repeat(lead) + atom.repeat(100);
        const parts = splitText(text, 60);
        expect(parts.join("")).toBe(text);
        for (const part of parts) expect(part).toMatch(/^x*(&amp;|😀)*$/u);
      }
    }
  });

  it("cuts no link that fits", () => {
    for (let lead = 0; lead < 60; lead++) {
      const link = "<https://a.example/page|some page of it>";
      const parts = splitText(`${"x ".repeat(lead)}${link} and more words after it`, 80);
      expect(parts.filter((part) => part.includes(link))).toHaveLength(1);
    }
  });

  it("keeps every text within the limit, its fences even and its words in order", () => {
    const word = fc.oneof(
      fc.stringMatching(/^[a-z&;<]{1,12}$/),
      fc.constantFrom("```", "\n", "\n```\n", "&amp;", "x".repeat(150)),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 80 }), fc.integer({ min: 50, max: 200 }), (words, limit) => {
        const text = words.join(" ");
        const parts = splitText(text, limit);
        expect(parts.length).toBeGreaterThan(0);
        for (const part of parts) expect(part.length).toBeLessThanOrEqual(limit);
        if (fences(text) % 2 === 0) for (const part of parts) expect(fences(part) % 2, part).toBe(0);
        const bare = (all: string) => all.replaceAll("```", "").replaceAll(/\s/g, "");
        expect(bare(parts.join(""))).toBe(bare(text));
      }),
    );
  });
});
