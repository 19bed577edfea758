import { describe, expect, it } from "vitest";
import { explainFailure } from "../../../src/console/assets/api.js";
import { createKeyStore, keyIn } from "../../../src/console/assets/key-store.js";
import { palettes } from "../../../src/console/stylesheet.ts";

describe("an answer that is no success", () => {
  it("is told in the server's own sentence, which knows more", () => {
    const sentence = "This API key is disabled; enable it or use another one.";
    for (const status of [400, 401, 403, 404, 409, 500])
      expect(explainFailure(status, sentence)).toBe(sentence);
  });

  it("is one sentence also when something in between answers", () => {
    const statuses = [0, 400, 401, 403, 404, 418, 429, 500, 502, 503, 504];
    const sentences = statuses.map((status) => explainFailure(status, undefined));
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z][^.]+\.$/);
    expect(explainFailure(401, { nested: true })).toBe("This API key is not accepted; paste another one.");
    expect(new Set(sentences).size).toBeGreaterThanOrEqual(statuses.length - 2);
  });

  it("says what to do where the server's sentence is for programs", () => {
    expect(explainFailure(429, "Too many requests; retry after 7 seconds.")).toContain("wait a moment");
    expect(explainFailure(503, "<html>")).toContain("cannot answer right now");
  });
});

describe("the key", () => {
  it("is found in what people paste", () => {
    for (const pasted of ["rck_abc", "  rck_abc\n", "Bearer rck_abc", "bearer   rck_abc "])
      expect(keyIn(pasted)).toBe("rck_abc");
    for (const pasted of ["", "  ", "two words", "Schlüssel", "a\nb"]) expect(keyIn(pasted)).toBeUndefined();
  });

  it("is kept in the storage, and leaves it", () => {
    const stored = new Map<string, string>();
    const storage = {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => void stored.set(name, value),
      removeItem: (name: string) => void stored.delete(name),
    };
    createKeyStore(() => storage).keep("secret");
    const again = createKeyStore(() => storage);
    expect(again.read()).toBe("secret");
    again.forget();
    expect([again.read(), stored.size]).toEqual([null, 0]);
  });

  it("serves a page that may store nothing", () => {
    const store = createKeyStore(() => {
      throw new Error("forbidden");
    });
    expect(store.read()).toBeNull();
    store.keep("secret");
    expect(store.read()).toBe("secret");
    store.forget();
    expect(store.read()).toBeNull();
  });
});

describe.each(["light", "dark"] as const)("in %s colours", (scheme) => {
  const { page, surface, line, ...texts } = palettes[scheme];

  it.each(Object.entries(texts))("%s can be read on all grounds", (_name, colour) => {
    for (const ground of [page, surface]) expect(contrast(colour, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it("borders of fields can be made out", () => {
    expect(contrast(line, page)).toBeGreaterThanOrEqual(3);
  });
});

/** Contrast ratio of two colours as WCAG 2 defines it, 1 to 21. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
