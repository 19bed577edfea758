import { z } from "zod";
import { badRequest } from "../../../platform/errors.ts";
import { shortLine } from "../../../platform/short-line.ts";
import type { ChatEvent, ChatRequest, SignedRequest } from "../platform.ts";

/** A part of a key that has a length. */
const Name = z.string().regex(/^[\x21-\x7e]{1,100}$/);
const Ts = z.string().regex(/^\d{1,12}\.\d{1,10}$/);

const Envelope = z.object({
  type: z.string(),
  challenge: z.string().max(1_000).optional(),
  event_id: Name.optional(),
  team_id: Name.optional(),
  event: z.looseObject({ type: z.string() }).optional(),
});
type Envelope = z.infer<typeof Envelope>;

const Message = z.object({
  type: z.string(),
  subtype: z.string().nullish(),
  bot_id: z.string().nullish(),
  bot_profile: z.unknown().optional(),
  channel: Name,
  channel_type: z.string().nullish(),
  user: Name.nullish(),
  text: z.string().nullish(),
  ts: Ts,
  thread_ts: Ts.nullish(),
  team: Name.nullish(),
  user_team: Name.nullish(),
  edited: z.unknown().optional(),
});

/** A thread's message that is shown in its channel, too, is a new message as any. */
const newMessages = new Set(["thread_broadcast"]);

const RevokedTokens = z.object({ tokens: z.object({ bot: z.array(z.string()).optional() }) });

const received = { ok: true };

/** Reads a request of Slack's Events API whose signature was checked. Throws 400. */
export function readSlackRequest({ header, body }: SignedRequest): ChatRequest {
  const text = body.toString("utf8");
  if (/^application\/x-www-form-urlencoded\b/i.test(header("content-type") ?? "")) {
    // Slack looks now and then whether the address has a good certificate.
    if (new URLSearchParams(text).get("ssl_check") === "1") return { kind: "answer", body: received };
    throw badRequest("Send an event as JSON.");
  }
  const envelope = parseEnvelope(text);
  if (envelope.type === "url_verification")
    return { kind: "answer", body: { challenge: envelope.challenge ?? "" } };
  if (envelope.type !== "event_callback") return { kind: "answer", body: received };
  if (envelope.event_id === undefined || envelope.event === undefined)
    throw badRequest("The event has no event_id or no event.");
  return {
    kind: "event",
    id: envelope.event_id,
    name: shortLine(envelope.event.type, 100) || "unknown",
    event: readEvent(envelope, envelope.event),
  };
}

function parseEnvelope(text: string): Envelope {
  try {
    return Envelope.parse(JSON.parse(text));
  } catch {
    throw badRequest("The body is no event of Slack's Events API.");
  }
}

function readEvent({ team_id: teamId = "" }: Envelope, event: { type: string }): ChatEvent {
  switch (event.type) {
    case "app_mention":
    case "message":
      return readMessage(teamId, event);
    case "app_uninstalled":
      return { kind: "removed", teamId, why: "The app was uninstalled at Slack." };
    case "tokens_revoked": {
      const bots = RevokedTokens.safeParse(event).data?.tokens.bot ?? [];
      if (bots.length === 0) return other("No token of the bot was revoked.");
      return { kind: "removed", teamId, why: "The bot's token was revoked at Slack." };
    }
    default:
      return other("Events of this kind are not used.");
  }
}

function readMessage(teamId: string, event: unknown): ChatEvent {
  const parsed = Message.safeParse(event);
  if (!parsed.success) return other("The message lacks what is needed to answer it.");
  const message = parsed.data;
  if (message.type === "message" && message.channel_type !== "im")
    return other("The message is no direct one and does not mention the bot.");
  if (message.subtype && !newMessages.has(message.subtype))
    return other(`It is no new message but ${shortLine(message.subtype, 60)}.`);
  if (message.edited) return other("It is no new message but an edit.");
  if (message.bot_id || message.bot_profile || !message.user) return other("A bot wrote the message.");
  return {
    kind: "message",
    teamId,
    userTeamId: message.user_team ?? message.team ?? teamId,
    channel: message.channel,
    thread: message.thread_ts ?? message.ts,
    ts: message.ts,
    user: message.user,
    text: message.text ?? "",
  };
}

const other = (why: string): ChatEvent => ({ kind: "other", why });
