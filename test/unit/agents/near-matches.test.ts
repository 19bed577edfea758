import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nearMatches, orDidYouMean } from "../../../src/agents/near-matches.ts";

describe("nearMatches", () => {
  const keys = ["name", "model", "modes", "instructions", "connections", "labels"];

  test.each([
    ["modle", ["model"]],
    ["instuctions", ["instructions"]],
    ["Model", ["model", "modes"]],
    ["label", ["labels"]],
    ["nmae", ["name"]],
    ["temperature", []],
    ["", []],
    ["x".repeat(10_000), []],
  ])("%s", (word, expected) => {
    expect(nearMatches(word, keys)).toEqual(expected);
  });

  test("gives at most as many as asked for, nearest first", () => {
    expect(nearMatches("aaaa", ["aaab", "aabb", "aaac", "aaaaa"], 2)).toEqual(["aaaaa", "aaab"]);
    expect(nearMatches("aaaaaa", ["aaaabb", "aaaaab"])).toEqual(["aaaaab", "aaaabb"]);
  });

  test("finds every word after one letter was changed, left out or put in", () => {
    const word = fc.stringMatching(/^[a-z]{4,20}$/);
    fc.assert(
      fc.property(
        word,
        fc.nat(19),
        fc.constantFrom("change", "leave out", "put in"),
        (original, seed, how) => {
          const at = seed % original.length;
          const rest = original.slice(how === "put in" ? at : at + 1);
          const typed = original.slice(0, at) + (how === "leave out" ? "" : "_") + rest;
          expect(nearMatches(typed, [original])).toEqual([original]);
        },
      ),
    );
  });
});

test("orDidYouMean ends a sentence", () => {
  expect(orDidYouMean("modle", ["model"])).toBe("; did you mean `model`?");
  expect(orDidYouMean("modl", ["model", "mode"])).toBe("; did you mean `mode` or `model`?");
  expect(orDidYouMean("zzzz", ["model"])).toBe(".");
});
