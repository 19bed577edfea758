import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyDelta, BrokenDelta, deltaResultSize } from "../../../src/repositories/local/delta.ts";

type Part = { copy: { start: number; length: number } } | { insert: Uint8Array };

const size = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...size(Math.floor(value / 128))];

/** Writes a delta as Git's documentation of the pack format describes it. */
function encode(base: Uint8Array, parts: readonly Part[]): { delta: Uint8Array; result: Uint8Array } {
  const result = Buffer.concat(
    parts.map((part) =>
      "insert" in part ? part.insert : base.subarray(part.copy.start, part.copy.start + part.copy.length),
    ),
  );
  const instructions = parts.flatMap((part) => {
    if ("insert" in part) return [part.insert.length, ...part.insert];
    const { start, length } = part.copy;
    const stated = length === 0x10000 ? 0 : length;
    const bytes = [start, start >>> 8, start >>> 16, start >>> 24, stated, stated >>> 8, stated >>> 16];
    const kept = bytes.map((byte) => byte & 255);
    const flags = kept.reduce((all, byte, bit) => (byte === 0 ? all : all | (1 << bit)), 128);
    return [flags, ...kept.filter((byte) => byte !== 0)];
  });
  return { delta: Uint8Array.from([...size(base.length), ...size(result.length), ...instructions]), result };
}

const baseAndParts = fc.uint8Array({ minLength: 1, maxLength: 300 }).chain((base) => {
  const copy = fc
    .tuple(fc.nat(base.length - 1), fc.nat())
    .map(([start, extent]) => ({ copy: { start, length: 1 + (extent % (base.length - start)) } }));
  const insert = fc.uint8Array({ minLength: 1, maxLength: 127 }).map((bytes) => ({ insert: bytes }));
  return fc.tuple(fc.constant(base), fc.array(fc.oneof(copy, insert), { maxLength: 20 }));
});

describe("deltas", () => {
  it("rebuild what they were made of", () => {
    fc.assert(
      fc.property(baseAndParts, ([base, parts]) => {
        const { delta, result } = encode(base, parts);
        expect(deltaResultSize(delta)).toBe(result.length);
        expect(Buffer.from(applyDelta(base, delta)).equals(result)).toBe(true);
      }),
    );
  });

  it("copy 64 KiB where the length is left out, and far offsets", () => {
    const base = Buffer.alloc(0x2_0000 + 7, "abc");
    const copy = { start: 0x1_0005, length: 0x10000 };
    const { delta, result } = encode(base, [{ copy }, { copy: { start: 0, length: 0x1_2345 } }]);
    expect(Buffer.from(applyDelta(base, delta)).equals(result)).toBe(true);
  });

  it("fail as broken deltas and in no other way, whatever the bytes", () => {
    const header = fc.constantFrom([4, 4], [4, 0], [4, 127], []);
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 40 }), (start, rest) => {
        const base = Uint8Array.of(1, 2, 3, 4);
        const delta = Uint8Array.from([...start, ...rest]);
        try {
          expect(applyDelta(base, delta)).toHaveLength(deltaResultSize(delta));
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenDelta);
        }
      }),
      // One that says its object has 25 GB.
      { numRuns: 1000, examples: [[[], Uint8Array.of(4, 128, 128, 128, 128, 95)]] },
    );
  });

  it("do not fit another base", () => {
    const { delta } = encode(Uint8Array.of(1, 2, 3), [{ copy: { start: 0, length: 2 } }]);
    expect(() => applyDelta(Uint8Array.of(1, 2), delta)).toThrow(BrokenDelta);
  });
});
