import { once } from "node:events";
import type { Response } from "express";
import type { StreamEvent } from "./endpoint.ts";

/** Proxies close connections that are silent for a minute. */
const keepAliveMs = 15_000;

/** Sends server-sent events until the source ends or `signal` is aborted, no faster than the client reads. */
export async function sendEvents(
  res: Response,
  events: AsyncIterable<StreamEvent>,
  signal: AbortSignal,
): Promise<void> {
  res.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
  });
  if (res.req.method === "HEAD") {
    res.end();
    return;
  }
  res.flushHeaders();
  const keepAlive = setInterval(() => res.write(": still here\n\n"), keepAliveMs);
  try {
    for await (const { id, event, data } of events) {
      if (signal.aborted) break;
      const room = res.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      if (!room) await once(res, "drain", { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(keepAlive);
  }
  res.end();
}
