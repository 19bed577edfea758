import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import {
  answerErrors,
  createRateLimit,
  type Endpoint,
  type MountOptions,
  mountEndpoints,
  requestLog,
} from "../../src/platform/http/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createRedactor } from "../../src/platform/redact.ts";

export interface ApiAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON, or the text when it is none; undefined without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export interface CallOptions {
  /** API key for the Authorization header. */
  key?: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface TestApi {
  /** Address of the API, `/api/v1` included. */
  url: string;
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>;
  /** Lines that were logged so far, as objects. */
  logged(): Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface ApiOptions extends Pick<MountOptions, "authenticate" | "auditRow"> {
  db: Database;
  /** Requests a minute for each key; off unless given. */
  rateLimit?: number;
  clock?: MountOptions["clock"];
}

/** Serves the endpoints on a free port of loopback, answers checked against their shapes. */
export async function startApi(
  endpoints: readonly Endpoint[],
  { db, authenticate, auditRow, rateLimit = 0, clock = systemClock }: ApiOptions,
): Promise<TestApi> {
  const lines: string[] = [];
  const logger = createLogger("debug", createRedactor(), { write: (line: string) => void lines.push(line) });
  const stopping = new AbortController();
  const app = express();
  app.use(requestLog(logger, createIds(), () => {}));
  app.use(
    "/api/v1",
    mountEndpoints(endpoints, {
      db,
      clock,
      authenticate,
      auditRow,
      rateLimit: createRateLimit(db, clock, "api", rateLimit),
      stopping: stopping.signal,
      checkResponses: true,
    }),
  );
  app.use(answerErrors(logger));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  return {
    url,
    call: (method, path, options) => callApi(url + path, method, options),
    logged: () => lines.map((line) => JSON.parse(line)),
    async stop() {
      stopping.abort();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function callApi(url: string, method: string, options: CallOptions = {}): Promise<ApiAnswer> {
  const { key, body, headers } = options;
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : isJson ? JSON.parse(text) : text,
  };
}
