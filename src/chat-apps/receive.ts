import { randomBytes } from "node:crypto";
import { encodePayload, type KeepDeps, keepDelivery } from "../deliveries/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import { toJson } from "../platform/db/index.ts";
import { AppError } from "../platform/errors.ts";
import type { Hook, HookAnswer } from "../platform/http/index.ts";
import { eventJobKind } from "./event-job.ts";
import type { ChatPlatforms, ChatRequest } from "./platforms/index.ts";
import { hookPath } from "./present.ts";
import type { ChatSecrets } from "./sealing.ts";
import { type ChatAppRow, findCalled } from "./store.ts";

export interface ReceiveDeps extends KeepDeps {
  secrets: ChatSecrets;
  platforms: ChatPlatforms;
}

const maxBytes = 1024 * 1024;

/** What an unknown app is checked with, so that its answer takes as long as any. */
const nobodysSecret = randomBytes(32).toString("base64url");

const accepted: HookAnswer = { status: 200, body: { ok: true } };

/**
 * Takes a chat platform's events: signature over the raw bytes → 200. The 200 means that the event and the job that
 * works it off are on disk; one that is there already, by the platform's id, is answered alike. Kept is what was read
 * and not the body, which has a token in it.
 */
export function chatHook(deps: ReceiveDeps): Hook {
  const { db, clock, secrets, platforms } = deps;
  const called = createBatchLoader((ids: readonly string[]) => findCalled(db.read, ids));
  return {
    path: hookPath,
    maxBytes,
    async handle({ params: { chat_app_id: id = "" }, header, bytes }) {
      const body = await bytes();
      const app = await called(idShape.test(id) ? id : "");
      const { signingSecret } = app ? secrets.credentials(app) : {};
      const platform = platforms[app?.platform ?? "slack"];
      const signed = platform.isSigned(signingSecret ?? nobodysSecret, { header, body }, clock());
      if (!app || signingSecret === undefined || !signed) throw notSigned();
      const request = platform.read({ header, body });
      if (request.kind === "answer") return { status: 200, body: request.body };
      await storeEvent(deps, app, request);
      return accepted;
    },
  };
}

const idShape = /^[\w-]{1,40}$/;

/** One text for every reason. */
const notSigned = () =>
  new AppError(401, "The chat app or the request's signature is not known, or the request is too old.");

async function storeEvent(
  deps: KeepDeps,
  app: ChatAppRow,
  { id, name, event }: Extract<ChatRequest, { kind: "event" }>,
): Promise<void> {
  await keepDelivery(deps, {
    workspace_id: app.workspace_id,
    source: "chat",
    // Ids of one app's events must not stand in the way of another's.
    external_id: `${app.id}/${id}`,
    sender_id: id,
    ref: app.id,
    event: name,
    stored: await encodePayload(Buffer.from(toJson(event))),
    next:
      event.kind === "other"
        ? { ignored: event.why }
        : { kind: eventJobKind, payload: { chatAppId: app.id } },
  });
}
