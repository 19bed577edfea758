import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { expect, it, onTestFinished } from "vitest";
import { hookRoute } from "../../../src/platform/http/hook.ts";
import { answerErrors } from "../../../src/platform/http/index.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";

/** A hook for bodies of ten bytes whose answers wait until they are let go. */
async function startHook() {
  const waiting: (() => void)[] = [];
  const app = express();
  app.use(
    hookRoute({
      path: "/hook",
      maxBytes: 10,
      async handle({ header, bytes }) {
        const text = String(await bytes());
        if (header("x-wait") !== undefined) await new Promise<void>((resolve) => waiting.push(resolve));
        return { status: 202, body: { text } };
      },
    }),
  );
  app.use(answerErrors(createLogger("silent", createRedactor())));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", body, headers });
  return { post, waiting };
}

it("gives a handler the bytes, up to the limit", async () => {
  const { post } = await startHook();
  expect(await (await post("0123456789")).json()).toEqual({ text: "0123456789" });
  expect((await post("0123456789a")).status).toBe(413);
  expect(await (await post("")).json()).toEqual({ text: "" });
});

it("holds eight full bodies at the same time, refuses more with 503, and recovers", async () => {
  const { post, waiting } = await startHook();
  const held = Array.from({ length: 8 }, () => post("0123456789", { "x-wait": "1" }));
  await expect.poll(() => waiting.length).toBe(8);
  const refused = await post("x");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  for (const release of waiting) release();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(8).fill(202));
  const again = Array.from({ length: 8 }, () => post("0123456789"));
  expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array(8).fill(202));
});
