import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IndexNotWritable, parseIndex, writeIndex } from "../../../src/repositories/local/git-index.ts";

const empty = { lines: [] };

const line = fc.record({
  path: fc
    .array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.map((part) => part.replaceAll(/[/\0]/g, "_")).join("/")),
  id: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("hex")),
  mode: fc.constantFrom(0o100644, 0o100755, 0o120000),
  stat: fc.constant(undefined),
});
const lines = fc.uniqueArray(line, { selector: ({ path }) => path, maxLength: 20 });

/** The index with something behind its lines, and the hash that it then has. */
function withExtension(bytes: Buffer, signature: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(3);
  const body = Buffer.concat([bytes.subarray(0, -20), Buffer.from(signature), length, Buffer.from("abc")]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

describe("an index", () => {
  it("is read as it was written, in Git's order", () => {
    fc.assert(
      fc.property(lines, (wanted) => {
        const read = parseIndex(writeIndex(empty, wanted)).lines;
        const sorted = wanted.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
        expect(read.map((each) => [each.name.toString(), each.id, each.mode, each.stage])).toEqual(
          sorted.map((each) => [each.path, each.id, each.mode, 0]),
        );
      }),
    );
  });

  it("keeps the other lines byte for byte", () => {
    fc.assert(
      fc.property(lines, line, (before, changed) => {
        const first = parseIndex(writeIndex(empty, before));
        const second = parseIndex(writeIndex(first, [changed]));
        const others = (index: typeof first) =>
          index.lines.filter(({ name }) => name.toString() !== changed.path).map(({ bytes }) => bytes);
        expect(others(second)).toEqual(others(first));
        expect(second.lines.find(({ name }) => name.toString() === changed.path)?.id).toBe(changed.id);
      }),
    );
  });

  it("that is damaged, cut off or of another form is not read as something else", () => {
    fc.assert(
      fc.property(lines, fc.nat(), fc.integer({ min: 1, max: 255 }), (wanted, place, flip) => {
        const bytes = writeIndex(empty, wanted);
        const at = place % bytes.length;
        expect(() => parseIndex(bytes.subarray(0, at))).toThrow("damaged");
        bytes[at] = (bytes[at] ?? 0) ^ flip;
        expect(() => parseIndex(bytes)).toThrow("damaged");
      }),
    );
  });

  it.each(["link", "sdir", "FSMN", "zzzz"])("with the extension %s is not to be written", (signature) => {
    const bytes = withExtension(writeIndex(empty, []), signature);
    expect(() => parseIndex(bytes)).toThrow(IndexNotWritable);
  });

  it.each(["TREE", "REUC", "UNTR", "EOIE"])(
    "may have the extension %s, which is left out again",
    (signature) => {
      const plain = writeIndex(empty, []);
      expect(writeIndex(parseIndex(withExtension(plain, signature)), [])).toEqual(plain);
    },
  );

  it("may have been written without a hash", () => {
    const bytes = writeIndex(empty, [{ path: "a", id: "1".repeat(40), mode: 0o100644, stat: undefined }]);
    bytes.fill(0, bytes.length - 20);
    expect(parseIndex(bytes).lines).toHaveLength(1);
  });
});
