import { expect, it } from "vitest";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

function loggerWithLines(level = "info") {
  const lines: string[] = [];
  const redactor = createRedactor();
  redactor.register("a registered secret");
  return { lines, logger: createLogger(level, redactor, { write: (line) => void lines.push(line) }) };
}

it("writes one line of JSON for each message, with its level in words and its time", () => {
  const { lines, logger } = loggerWithLines();
  logger.info({ n: 1 }, "done");
  logger.debug("not this");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    n: 1,
    msg: "done",
  });
});

it("lets no control, direction or line character out unescaped, and loses none", () => {
  const { lines, logger } = loggerWithLines();
  const odd = "\u0000\u001b[31m\r\n\u007f\u0085\u009b\u2028\u2029\u202e\u2066é😀";
  logger.info({ name: odd }, "odd");
  expect(lines[0]).not.toMatch(unsafe);
  expect(lines[0]?.indexOf("\n")).toBe((lines[0]?.length ?? 0) - 1);
  expect(JSON.parse(lines[0] ?? "").name).toBe(odd);
});

it("scrubs secrets out of messages, fields, errors and their causes", () => {
  const { lines, logger } = loggerWithLines();
  const cause = new Error("cause with a registered secret");
  const err = Object.assign(new Error("a registered secret was refused", { cause }), {
    url: "https://x/?key=a registered secret",
  });
  logger
    .child({ field: "a registered secret" })
    .error({ err, deep: { list: ["a registered secret"] } }, "with a registered secret");
  expect(lines.join("")).not.toContain("a registered secret");
  expect(JSON.parse(lines[0] ?? "").msg).toBe("with [redacted]");
});
