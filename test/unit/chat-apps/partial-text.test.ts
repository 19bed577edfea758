import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partialText } from "../../../src/chat-apps/platforms/slack/partial-text.ts";

describe("an answer that is still being written", () => {
  it.each([
    ["Hello wor", "Hello wor …"],
    ["**bold te", "*bold te* …"],
    ["**bold text*", "*bold text* …"],
    ["**bold** and *", "*bold* and …"],
    ["run `npm te", "run `npm te` …"],
    ["run `npm **", "run `npm` …"],
    ["run `a` and **b", "run `a` and *b* …"],
    ["see [the page](https://a.exam", "see the page …"],
    ["see [the page](https://a.example)", "see <https://a.example|the page> …"],
    ["```ts\nconst a", "```\nconst a\n``` …"],
    ["```\n**a", "```\n**a\n``` …"],
    ["```\na\n``", "```\na\n``` …"],
    ["```\na\n```", "```\na\n``` …"],
    ["Look:\n```ts\n", "Look: …"],
    ["Look:\n``", "Look: …"],
    ["Hi \ud83d", "Hi …"],
    ["<!channel> <@U1", "&lt;!channel&gt; &lt;@U1 …"],
  ])("%j is shown as %j", (markdown, shown) => {
    expect(partialText(markdown, 3_000)).toBe(shown);
  });

  it.each(["", " \n", "```", "```js\n", "**", "`"])("%j is nothing to be seen", (markdown) => {
    expect(partialText(markdown, 3_000)).toBe("");
  });

  it("is the beginning of what is too long for a message", () => {
    const lines = Array.from({ length: 500 }, (_, n) => `line ${n}`);
    const shown = partialText(["```", ...lines].join("\n"), 1_000);
    expect(shown.length).toBeLessThanOrEqual(1_000);
    expect(shown).toMatch(/^```\nline 0\n[^`]*\n``` …$/);
  });

  it("leaves nothing open wherever it is cut, and calls nobody", () => {
    const atom = fc.constantFrom(
      ...[
        "word",
        " ",
        "\n",
        "**bold**",
        "`code`",
        "\n```\n**x** `y`\n```\n",
        "[a](https://x.y/z)",
        "<!here>",
        "&",
      ],
    );
    fc.assert(
      fc.property(fc.array(atom, { maxLength: 30 }), fc.nat(), (atoms, at) => {
        const whole = atoms.join(" ");
        const shown = partialText(whole.slice(0, at % (whole.length + 1)), 200);
        expect(shown.length).toBeLessThanOrEqual(200);
        expect((shown.split("```").length - 1) % 2).toBe(0);
        const outside = shown.split("```").filter((_, index) => index % 2 === 0);
        for (const text of outside) {
          expect((text.split("`").length - 1) % 2).toBe(0);
          expect(text.replaceAll(/`[^`]*`/g, "")).not.toContain("**");
        }
        for (const [, inner = ""] of shown.matchAll(/<([^>]*)>?/g))
          expect(inner).toMatch(/^https:\/\/x\.y\/z\|a$/);
      }),
    );
  });
});
