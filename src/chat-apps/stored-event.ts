import { z } from "zod";
import { readPayload } from "../deliveries/index.ts";
import { fromJson, type Queryable } from "../platform/db/index.ts";
import type { ChatEvent } from "./platforms/index.ts";

const StoredEvent = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("message"),
    teamId: z.string(),
    channel: z.string(),
    thread: z.string(),
    ts: z.string(),
    userTeamId: z.string(),
    user: z.string(),
    text: z.string(),
  }),
  z.object({ kind: z.literal("removed"), teamId: z.string(), why: z.string() }),
  z.object({ kind: z.literal("other"), why: z.string() }),
]) satisfies z.ZodType<ChatEvent>;

/** The event of a delivery; undefined when the delivery was removed meanwhile. */
export async function readEvent(q: Queryable, deliveryId: string): Promise<ChatEvent | undefined> {
  const payload = await readPayload(q, deliveryId);
  return payload && fromJson(StoredEvent, payload.toString("utf8"));
}
