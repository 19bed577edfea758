import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeMrkdwn, plainText, toMrkdwn } from "../../../src/chat-apps/platforms/slack/mrkdwn.ts";

describe("what users write", () => {
  it.each([
    ["<@U0BOT> hello", "hello"],
    ["hey <@U0BOT>, do it", "hey , do it"],
    ["ask <@U7> or <@U8|jo>", "ask @U7 or @jo"],
    ["in <#C1|general> and <#C2>", "in #general and #C2"],
    ["see <https://a.example/x?y=1&amp;z|the page>", "see the page (https://a.example/x?y=1&z)"],
    ["<https://a.example>", "https://a.example"],
    ["<mailto:a@b.example|a@b.example>", "a@b.example"],
    ["<!here> &lt;b&gt; &amp;lt;", "@here <b> &lt;"],
  ])("%s is read as %s", (text, plain) => {
    expect(plainText(text, "U0BOT")).toBe(plain);
  });
});

describe("what models write", () => {
  it.each([
    ["**bold** and *it*", "*bold* and *it*"],
    ["## A title", "*A title*"],
    ["[page](https://a.example/?a=1&b=2)", "<https://a.example/?a=1&amp;b=2|page>"],
    ["`**code**` **b**", "`**code**` *b*"],
    ["```js\n**x** < 1\n```", "```\n**x** &lt; 1\n```"],
    [
      "<@U1> <!channel> <https://evil.example|x>",
      "&lt;@U1&gt; &lt;!channel&gt; &lt;https://evil.example|x&gt;",
    ],
    ["[x](javascript:alert(1))", "[x](javascript:alert(1))"],
  ])("%s is shown as %s", (markdown, shown) => {
    expect(toMrkdwn(markdown)).toBe(shown);
  });

  it("never becomes a mention or another control sequence, only links to the web", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            "<",
            ">",
            "@U1",
            "!here",
            "|",
            "&",
            "[a]",
            "(https://x.y)",
            "`",
            "*",
            "\n",
            "#C1",
            " ",
          ),
        ),
        (parts) => {
          for (const [, inner = ""] of toMrkdwn(parts.join("")).matchAll(/<([^>]*)>/g))
            expect(inner).toMatch(/^https?:\/\//);
        },
      ),
    );
  });

  it("comes back as it was when it is only escaped", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(plainText(escapeMrkdwn(text), "U0BOT")).toBe(text.trim());
      }),
    );
  });
});
