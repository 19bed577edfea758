import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Answer,
  gatherAnswer,
  type StreamPart,
  textOf,
} from "../../../src/frameworks/model-call/gather-answer.ts";

type Part = Answer["content"][number];

const usage: Answer["usage"] = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const finish: Extract<StreamPart, { type: "finish" }> = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end_turn" },
  usage,
};

function gather(...parts: StreamPart[]): Answer | undefined {
  const gathering = gatherAnswer();
  for (const part of parts) gathering.add(part);
  return gathering.answer();
}

const contentOf = (...parts: StreamPart[]) => gather(...parts, finish)?.content;

/** A text cut into that many pieces or fewer, wherever. */
const cutUp = (text: string) =>
  fc
    .array(fc.nat(text.length), { maxLength: 8 })
    .map((cuts) => [0, ...cuts.sort((a, b) => a - b), text.length])
    .map((at) => at.slice(1).map((end, index) => text.slice(at[index], end)));

const metadata = fc.option(fc.record({ anthropic: fc.record({ signature: fc.string() }) }), {
  nil: undefined,
});

/** A part of an answer with the pieces that its text comes in. */
const spoken = fc
  .record({
    type: fc.constantFrom("text" as const, "reasoning" as const),
    text: fc.string({ unit: "binary" }),
    providerMetadata: metadata,
  })
  .chain(({ providerMetadata, ...part }) =>
    cutUp(part.text).map((pieces) => ({
      part: { ...part, ...(providerMetadata ? { providerMetadata } : {}) } satisfies Part,
      pieces,
    })),
  );
const called = fc.record({ toolCallId: fc.uuid(), toolName: fc.string(), input: fc.json() }).map((call) => ({
  part: { type: "tool-call" as const, ...call } satisfies Part,
  pieces: undefined,
}));
const answerInPieces = fc.array(fc.oneof(spoken, called), { maxLength: 8 });

/** The parts one after the other, as servers send them. Blocks of a kind share an id, as in some clients. */
function oneByOne(answer: ReadonlyArray<{ part: Part; pieces: string[] | undefined }>): StreamPart[] {
  return answer.flatMap(({ part, pieces }): StreamPart[] => {
    if (part.type !== "text" && part.type !== "reasoning") return [part as StreamPart];
    const { type, providerMetadata } = part;
    return [
      { type: `${type}-start`, id: "0" },
      ...(pieces ?? []).map((delta) => ({ type: `${type}-delta` as const, id: "0", delta })),
      { type: `${type}-end`, id: "0", ...(providerMetadata ? { providerMetadata } : {}) },
    ];
  });
}

/** All blocks under way at the same time: a piece of each in turn. */
function sideBySide(answer: ReadonlyArray<{ part: Part; pieces: string[] | undefined }>): StreamPart[] {
  const starts = answer.map(({ part }, id): StreamPart => {
    if (part.type !== "text" && part.type !== "reasoning") return part as StreamPart;
    const { type, providerMetadata } = part;
    return { type: `${type}-start`, id: `${id}`, ...(providerMetadata ? { providerMetadata } : {}) };
  });
  const longest = Math.max(0, ...answer.map(({ pieces }) => pieces?.length ?? 0));
  const turns = Array.from({ length: longest }, (_, turn) =>
    answer.flatMap(({ part, pieces }, id): StreamPart[] => {
      const delta = pieces?.[turn];
      if (delta === undefined || (part.type !== "text" && part.type !== "reasoning")) return [];
      return [{ type: `${part.type}-delta`, id: `${id}`, delta }];
    }),
  );
  return [...starts, ...turns.flat()];
}

describe("gatherAnswer", () => {
  it("gathers any answer, whatever pieces it comes in", () => {
    fc.assert(
      fc.property(answerInPieces, fc.constantFrom(oneByOne, sideBySide), (answer, send) => {
        const gathered = gather(...send(answer), finish);
        expect(gathered?.content).toEqual(answer.map(({ part }) => part));
        expect(gathered).toMatchObject({ usage, finishReason: finish.finishReason });
      }),
    );
  });

  it("keeps the last metadata of a block", () => {
    const meta = (signature: string) => ({ providerMetadata: { anthropic: { signature } } });
    expect(
      contentOf(
        { type: "reasoning-start", id: "1", ...meta("a") },
        { type: "reasoning-delta", id: "1", delta: "Hm." },
        { type: "reasoning-delta", id: "1", delta: "", ...meta("b") },
        { type: "reasoning-end", id: "1" },
      ),
    ).toEqual([{ type: "reasoning", text: "Hm.", ...meta("b") }]);
  });

  it("takes a block whose beginning was left out", () => {
    expect(contentOf({ type: "text-delta", id: "1", delta: "Hi." })).toEqual([{ type: "text", text: "Hi." }]);
  });

  it("takes files, sources and results as they come, without previews and what is no content", () => {
    const file = {
      type: "file" as const,
      mediaType: "text/plain",
      data: { type: "data" as const, data: "SGk=" },
    };
    const source = { type: "source" as const, sourceType: "url" as const, id: "s", url: "https://a.example" };
    const result = { type: "tool-result" as const, toolCallId: "1", toolName: "search", result: "found" };
    const fallback = { type: "custom" as const, kind: "anthropic.fallback" as const };
    expect(
      contentOf(
        { type: "custom", kind: "anthropic.message_start" },
        { type: "ping" },
        { ...result, preliminary: true },
        { type: "tool-input-start", id: "1", toolName: "search" },
        { type: "tool-input-delta", id: "1", delta: "{}" },
        { type: "tool-input-end", id: "1" },
        result,
        file,
        source,
        fallback,
      ),
    ).toEqual([result, file, source, fallback]);
  });

  it("keeps citations, warnings and what is told of the answer as a whole", () => {
    const citation = { type: "source", sources: [] } as never;
    const warning = { type: "other" as const, message: "temperature was left out" };
    expect(
      gather(
        { type: "stream-start", warnings: [warning] },
        { type: "response-metadata", id: "msg_1", modelId: "m" },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Hi." },
        { type: "text-end", id: "1", citations: [citation] },
        { ...finish, providerMetadata: { anthropic: { tier: "a" } } },
      ),
    ).toEqual({
      content: [{ type: "text", text: "Hi.", citations: [citation] }],
      finishReason: finish.finishReason,
      usage,
      providerMetadata: { anthropic: { tier: "a" } },
      response: { id: "msg_1", modelId: "m" },
      warnings: [warning],
    });
  });

  it("has no answer before its end, nor when the client ended it for want of more", () => {
    const said: StreamPart = { type: "text-delta", id: "1", delta: "Half of" };
    expect(gather(said)).toBeUndefined();
    for (const unified of ["interrupted", "other"] as const)
      expect(gather(said, { ...finish, finishReason: { unified, raw: undefined } })).toBeUndefined();
    expect(gather(said, { ...finish, finishReason: { unified: "other", raw: "pause_turn" } })).toBeDefined();
  });
});

it("textOf leaves reasoning out", () => {
  const content: Part[] = [
    { type: "reasoning", text: "Hm." },
    { type: "text", text: "One" },
    { type: "text", text: " two" },
  ];
  expect(textOf({ content })).toBe("One two");
});
