import { timingSafeEqual } from "node:crypto";
import { type DeliveryRow, deliveryPrefix, deliveryRow, encodePayload } from "../deliveries/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, isUniqueViolation } from "../platform/db/index.ts";
import { badRequest, forbidden, unauthorized } from "../platform/errors.ts";
import {
  type Hook,
  type HookAnswer,
  type HookRequest,
  type IdempotentRequest,
  idempotentRequest,
  keptAnswerRow,
  keptFor,
  type RateLimit,
  readKeptAnswers,
} from "../platform/http/index.ts";
import type { Ids } from "../platform/ids.ts";
import type { LastUse } from "../platform/last-use.ts";
import { type Sealer, sha256 } from "../platform/secrets.ts";
import { envelope } from "./envelope.ts";
import { readJson, requireJson } from "./read-body.ts";
import { sealingContext } from "./sealing.ts";
import { isSigned } from "./signature.ts";
import type { StartRun } from "./start-run.ts";
import { findCalled, toolsOf, type WebhookRow } from "./store.ts";

export interface ReceiveDeps {
  db: Database;
  ids: Ids;
  clock: Clock;
  sealer: Sealer;
  rateLimit: RateLimit;
  startRun: StartRun;
  lastCall: LastUse;
}

/** A call that passed every check. */
interface Call {
  webhook: WebhookRow;
  body: Buffer;
  json: string;
  /** What the caller named the call with, if anything. */
  senderId: string | undefined;
  keys: readonly IdempotentRequest[];
}

export const hookPath = "/api/hooks/webhook/{id}";

const maxBytes = 1024 * 1024;

/**
 * Takes calls of external webhooks: token → enabled → rate → body → 202. The 202 means that the delivery and its one
 * run are on disk, committed together. A call whose Idempotency-Key or webhook-id was seen in the last 24 hours
 * is answered as it was then and makes no other run.
 */
export function webhookHook(deps: ReceiveDeps): Hook {
  const { db, clock, rateLimit } = deps;
  const called = createBatchLoader((ids: readonly string[]) => findCalled(db.read, ids));
  const keptAnswers = createBatchLoader((ids: readonly string[]) => readKeptAnswers(db.read, ids));

  async function keptAnswer(keys: readonly IdempotentRequest[]): Promise<HookAnswer | undefined> {
    const rows = await Promise.all(keys.map(({ id }) => keptAnswers(id)));
    for (const [index, key] of keys.entries()) {
      const row = rows[index];
      const kept = row && keptFor(key, row);
      if (kept) return { status: kept.status, body: JSON.parse(kept.json ?? "{}"), headers: replayed };
    }
    return undefined;
  }

  async function accept(call: Call): Promise<HookAnswer> {
    const kept = await keptAnswer(call.keys);
    if (kept) return kept;
    try {
      return await store(deps, call);
    } catch (error) {
      // A twin that came at the same moment was committed first.
      const twin = isUniqueViolation(error) ? await keptAnswer(call.keys) : undefined;
      if (twin) return twin;
      throw error;
    }
  }

  return {
    path: hookPath,
    maxBytes,
    async handle({ params: { id = "" }, header, bytes }) {
      const webhook = await called(idShape.test(id) ? id : "");
      requireToken(webhook, header("authorization"));
      if (webhook.enabled !== 1) throw forbidden("This webhook is disabled; have it enabled first.");
      const limits = await rateLimit.take(webhook.id);
      requireJson(header);
      const body = await bytes();
      requireSignature(deps, webhook, header, body, clock());
      const json = readJson(body);
      const {
        status,
        body: answer,
        headers,
      } = await accept({ webhook, body, json, ...keysOf(webhook, header, json) });
      return { status, body: answer, headers: { ...limits, ...headers } };
    },
  };
}

const replayed = { "Idempotency-Replayed": "true" };
const idShape = /^[\w-]{1,40}$/;

/** What no token has for its digest. */
const noHash = "0".repeat(64);

/** Unknown ids and wrong tokens are refused alike, after the same work. */
function requireToken(
  webhook: WebhookRow | undefined,
  authorization: string | undefined,
): asserts webhook is WebhookRow {
  const token = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1] ?? "";
  const given = Buffer.from(sha256(token));
  const fits = timingSafeEqual(given, Buffer.from(webhook?.token_hash ?? noHash));
  if (!fits || !webhook)
    throw unauthorized("The webhook or its token is not known; send Authorization: Bearer <token>.");
}

function requireSignature(
  { sealer }: ReceiveDeps,
  { id, signing_secret }: WebhookRow,
  header: HookRequest["header"],
  body: Buffer,
  now: number,
): void {
  if (signing_secret === null) return;
  const secret = sealer.open(signing_secret, sealingContext(id));
  const headers = {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
  };
  if (!isSigned(secret, headers, body, now))
    throw unauthorized(
      "The signature does not fit; send webhook-id, webhook-timestamp and webhook-signature as Standard Webhooks have them.",
    );
}

/** Either name is enough to know a call again: senders of Standard Webhooks repeat the id, others the key. */
function keysOf({ id }: WebhookRow, header: HookRequest["header"], json: string) {
  const [key, webhookId] = [header("idempotency-key"), header("webhook-id")];
  if (webhookId !== undefined && !/^[\x21-\x7e]{1,255}$/.test(webhookId))
    throw badRequest("Use a webhook-id of 1 to 255 printable characters.");
  const keys = [
    idempotentRequest(key, `${id}\nidempotency-key`, json),
    idempotentRequest(webhookId, `${id}\nwebhook-id`, json),
  ].filter((each) => each !== undefined);
  return { keys, senderId: key ?? webhookId };
}

async function store(deps: ReceiveDeps, { webhook, body, json, senderId, keys }: Call): Promise<HookAnswer> {
  const { db, ids, clock, startRun, lastCall } = deps;
  const message = envelope(webhook.name, json);
  const [started, stored] = await Promise.all([
    startRun({ webhook, message, toolsAllowed: toolsOf(webhook) }),
    encodePayload(body),
  ]);
  const now = clock();
  const id = ids(deliveryPrefix);
  const delivery: DeliveryRow = {
    id,
    workspace_id: webhook.workspace_id,
    source: "webhook",
    // A key counts for a day and a delivery is kept for thirty: the keys' own rows tell what is the same.
    external_id: id,
    sender_id: senderId ?? null,
    ref: webhook.id,
    event: webhook.name,
    action: null,
    state: started.state,
    reason: started.reason,
    attempts: 1,
    run_id: started.runId,
    received_at: now,
  };
  const answer = { ok: true, run_id: started.runId, delivery_id: id };
  const kept = { status: 202, json: JSON.stringify(answer), target: id };
  const rows = [
    deliveryRow(delivery, stored),
    ...started.unit.rows,
    ...keys.map((key) => keptAnswerRow(key, kept, now)),
  ];
  await db.commit({ ...started.unit, rows });
  lastCall.note(webhook.id, webhook.last_called_at);
  return { status: 202, body: answer };
}
