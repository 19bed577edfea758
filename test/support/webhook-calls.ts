import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { onTestFinished } from "vitest";
import { createAgents } from "../../src/agents/index.ts";
import { deliveryEndpoints, type Replayers } from "../../src/deliveries/index.ts";
import { createDispatches } from "../../src/dispatches/index.ts";
import { frameworkSpecs } from "../../src/frameworks/index.ts";
import { answerErrors, createRateLimit, mountEndpoints } from "../../src/platform/http/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue } from "../../src/platform/jobs/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";
import { createSealer } from "../../src/platform/secrets.ts";
import { createRunSignals, createRuns } from "../../src/runs/index.ts";
import { createWebhooks } from "../../src/webhooks/index.ts";
import type { Answer, TestApp } from "./app.ts";

/** A webhook as it was made, with the secrets that are shown once. */
export interface MadeWebhook {
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
  record: any;
  token: string;
  signingSecret: string | undefined;
}

type Requester = Pick<TestApp, "request">;

/** One request whose headers are given one by one; undefined leaves one out. */
async function request(
  url: string,
  method: string,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  // As bytes: to a text without a type fetch would add one of its own.
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const response = await fetch(url, {
    method,
    headers: sent as [string, string][],
    ...(bytes ? { body: bytes } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text === "" ? undefined : JSON.parse(text),
  };
}

/** Makes a webhook of an agent; throws when that is refused. */
export async function makeWebhook(
  app: Requester,
  agent: string,
  body: Readonly<Record<string, unknown>> = {},
  setup: { key?: string } = {},
): Promise<MadeWebhook> {
  const answer = await app.request("POST", `/agents/${agent}/webhooks`, {
    body: { name: "orders", ...body },
    ...setup,
  });
  if (answer.status !== 201) throw new Error(`The webhook was refused with ${answer.status}: ${answer.text}`);
  const { webhook, token, signingSecret } = answer.json;
  return { id: webhook.id, record: webhook, token, signingSecret };
}

export interface CallSetup {
  /** Sent as JSON unless `raw` is given. */
  payload?: unknown;
  raw?: string | Uint8Array<ArrayBuffer>;
  /** The webhook's own unless given; none when null. */
  token?: string | null;
  /** Over the usual ones; undefined leaves one out. */
  headers?: Readonly<Record<string, string | undefined>>;
}

/** Calls a webhook as an outside system does. */
export function call(
  app: Pick<TestApp, "url">,
  { id, token: own }: Pick<MadeWebhook, "id" | "token">,
  { payload = { order: 1 }, raw = JSON.stringify(payload), token = own, headers = {} }: CallSetup = {},
): Promise<Answer> {
  const all = {
    "content-type": "application/json",
    authorization: token === null ? undefined : `Bearer ${token}`,
    ...headers,
  };
  return request(`${app.url}/api/hooks/webhook/${id}`, "POST", raw, all);
}

/** Headers of Standard Webhooks for a body. `at` in epoch milliseconds. */
export function signed(
  secret: string,
  body: string,
  { id = `msg_${randomBytes(8).toString("hex")}`, at = Date.now() } = {},
) {
  const timestamp = String(Math.floor(at / 1000));
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` };
}

/** The webhooks of another process on the service's database, with what its sealed secrets open with. */
export function webhooksBeside({ db, access }: Pick<TestApp, "db" | "access">, secretKey: string) {
  const ids = createIds();
  const clock = Date.now;
  const redactor = createRedactor();
  const logger = createLogger("silent", redactor);
  const queue = createJobQueue(db, ids, clock);
  const agents = createAgents({ db, schemas: frameworkSpecs, knownSlugs: async () => new Set() });
  const signals = createRunSignals();
  const shared = { db, ids, clock, logger, redactor, queue, agents };
  const runs = createRuns({
    ...shared,
    connections: {} as never,
    budgets: {} as never,
    signals,
    followUps: () => [],
    abort: () => {},
  });
  const dispatches = createDispatches(shared);
  return createWebhooks({
    ...shared,
    runs,
    dispatches,
    members: access.members,
    sealer: createSealer([secretKey]),
    rateLimit: createRateLimit(db, clock, "webhook", 0),
    baseUrl: "",
  });
}

/** The endpoints of deliveries beside the service, with the same database and the same keys. */
export async function serveDeliveries(app: TestApp, replayers: Replayers) {
  const { db, access } = app;
  const http = express();
  http.use((_req, res, next) => {
    res.locals.reqId = "req_test";
    next();
  });
  const rateLimit = createRateLimit(db, Date.now, "api", 0);
  const { authenticate, auditRow } = access;
  const stopping = new AbortController().signal;
  const mount = { db, clock: Date.now, rateLimit, authenticate, auditRow, stopping, checkResponses: true };
  http.use("/api/v1", mountEndpoints(deliveryEndpoints({ db, replayers }), mount));
  http.use(answerErrors(createLogger("silent", createRedactor())));
  const server = http.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  return {
    request: (method: string, path: string, { key = app.key }: { key?: string } = {}) =>
      request(base + path, method, undefined, { authorization: `Bearer ${key}` }),
  };
}
