import { setTimeout as timer } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLiveText } from "../../../src/frameworks/model-call/live-text.ts";

/** Timers of the same length end in the order in which they began: what was due before is done. */
const nextWindow = () => timer(0);

function listen(windowMs = 0) {
  const sent: string[] = [];
  return { sent, live: createLiveText((text) => sent.push(text), windowMs) };
}

describe("live text", () => {
  it("sends what came in a window together", async () => {
    const { sent, live } = listen();
    live.add("It is ");
    live.add("sunny ");
    await nextWindow();
    live.add("in Oslo ");
    await nextWindow();
    await nextWindow();
    expect(sent).toEqual(["It is sunny ", "in Oslo "]);
  });

  it("sends nothing of an answer that ends within its first window, nor after the end", async () => {
    const { sent, live } = listen();
    live.add("It is ");
    live.end();
    await nextWindow();
    expect(sent).toEqual([]);
  });

  it("does not begin a window without text", async () => {
    const { sent, live } = listen();
    live.add("");
    await nextWindow();
    live.add("now ");
    await nextWindow();
    expect(sent).toEqual(["now "]);
  });

  it("holds back a word that may go on, but no text without spaces of other scripts", async () => {
    const { sent, live } = listen();
    live.add("The key is sk-half");
    await nextWindow();
    live.add("-of-it. 今日は晴れ");
    await nextWindow();
    live.add("です");
    await nextWindow();
    expect(sent).toEqual(["The key is ", "sk-half-of-it. 今日は晴れ", "です"]);
  });

  it("holds back what makes the next word a token", async () => {
    const { sent, live } = listen();
    live.add("Send Bearer ");
    await nextWindow();
    live.add("0123456789abcdef with it.");
    await nextWindow();
    expect(sent).toEqual(["Send ", "Bearer 0123456789abcdef with "]);
  });

  it("sends a beginning of the text, cut in no word, whatever pieces it comes in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.string({ unit: fc.constantFrom("a", "!", " ", "\n", "é") }), fc.boolean())),
        async (pieces) => {
          const { sent, live } = listen();
          for (const [text, pause] of pieces) {
            live.add(text);
            if (pause) await nextWindow();
          }
          live.end();
          const whole = pieces.map(([text]) => text).join("");
          const told = sent.join("");
          expect(whole.startsWith(told)).toBe(true);
          expect(told).not.toMatch(/[!-~]$/);
          expect(sent).not.toContain("");
        },
      ),
      { numRuns: 60 },
    );
  });
});
