import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import { IntegrationFailure } from "../integrations/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, fromJson, type Tx, toJson } from "../platform/db/index.ts";
import type { Logger } from "../platform/logger.ts";
import { sha256 } from "../platform/secrets.ts";
import {
  addDocument,
  claimDocument,
  type DocumentKey,
  type DocumentRow,
  expireDocument,
  findContent,
  findDocuments,
  forgetDocuments,
  settleDocument,
} from "./store.ts";

/** Something that an outside provider says, and how to ask for it. */
export interface ProviderDocument<T> extends DocumentKey {
  /** Fingerprint of what it is read with. Of another one's content nothing is served. */
  origin: string;
  schema: z.ZodType<T>;
  /** How long it counts as new, milliseconds. */
  freshMs: number;
  load(signal: AbortSignal): Promise<T>;
}

/** `value` is undefined when it could never be read; `failure` is why the last reading did not succeed. */
export interface Reading<T> {
  value: T | undefined;
  failure: string | undefined;
}

/**
 * Documents of outside providers, kept in SQL for all processes. A new one is served as it is. An old one is
 * served, too, while one process reads it again. Only the very first reading is waited for, and not for long.
 */
export interface DocumentCache {
  read<T>(document: ProviderDocument<T>): Promise<Reading<T>>;
  /** Like `read`, but waits for a new reading, not for long, when the last one is older than `maxAgeMs`. */
  recheck<T>(document: ProviderDocument<T>, maxAgeMs: number): Promise<Reading<T>>;
  /** Has a document read anew by whoever asks for it next. */
  expire(tx: Tx, key: DocumentKey): Promise<void>;
  /** Ends what is being read. */
  close(): Promise<void>;
}

export interface DocumentCacheDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  /** How long a reader waits for what was never read, milliseconds. */
  waitMs?: number;
  /** How long a reading may take, milliseconds. */
  loadMs?: number;
  /** How long a failed reading is not tried again, milliseconds. */
  backoffMs?: number;
}

/** Parsed documents that are kept. */
const keptValues = 500;
const pollMs = 50;
const month = 30 * 24 * 60 * 60_000;

const idOf = ({ workspaceId, kind, name }: DocumentKey) => `${workspaceId}\n${kind}\n${name}`;

function keyOf(id: string): DocumentKey {
  const [workspaceId = "", kind = "", name = ""] = id.split("\n");
  return { workspaceId, kind, name };
}

export function createDocumentCache(deps: DocumentCacheDeps): DocumentCache {
  const { db, clock, logger, waitMs = 5_000, loadMs = 30_000, backoffMs = 30_000 } = deps;
  const closing = new AbortController();
  const values = new Map<string, { sha: string; value: unknown }>();
  const inFlight = new Map<string, Promise<void>>();
  const rowOf = createBatchLoader<string, DocumentRow>(async (ids) => {
    const rows = await findDocuments(db.read, ids.map(keyOf));
    return new Map(
      rows.map((row) => [idOf({ workspaceId: row.workspace_id, kind: row.kind, name: row.name }), row]),
    );
  });
  const find = (key: DocumentKey) => rowOf(idOf(key));

  async function contentOf<T>(document: ProviderDocument<T>, row: DocumentRow | undefined) {
    if (!row || row.origin !== document.origin || row.content_sha === null) return undefined;
    const id = idOf(document);
    const known = values.get(id);
    if (known?.sha === row.content_sha) return known.value as T;
    const found = await findContent(db.read, document);
    if (!found) return undefined;
    const value = fromJson(document.schema, found.content);
    values.delete(id);
    const [oldest] = values.keys();
    if (values.size >= keptValues && oldest !== undefined) values.delete(oldest);
    values.set(id, { sha: found.content_sha, value });
    return value;
  }

  async function readingOf<T>(document: ProviderDocument<T>, row: DocumentRow | undefined) {
    const failure = row?.origin === document.origin ? (row.failure ?? undefined) : undefined;
    return { value: await contentOf(document, row), failure };
  }

  /** Joins the reading that this process makes already, if it makes one. Never rejects. */
  function refresh<T>(document: ProviderDocument<T>, row: DocumentRow | undefined): Promise<void> {
    const id = `${idOf(document)}\n${document.origin}`;
    const running = inFlight.get(id);
    if (running) return running;
    const started = refreshOnce(document, row)
      .catch((error) => logger.warn({ err: error, kind: document.kind }, "a provider's answer was not kept"))
      .finally(() => inFlight.delete(id));
    inFlight.set(id, started);
    return started;
  }

  async function refreshOnce<T>(document: ProviderDocument<T>, row: DocumentRow | undefined): Promise<void> {
    const { origin } = document;
    const isBeingRead = row?.origin === origin && row.content_sha === null && row.failure === null;
    if (isBeingRead && clock() < row.refresh_at) return untilRead(document);
    const until = clock() + loadMs + backoffMs;
    const seen = row ?? { origin, refresh_at: 0 };
    const claimed = await db.transaction(async (tx) => {
      if (!row) await addDocument(tx, document, origin);
      return claimDocument(tx, document, seen, origin, until);
    });
    if (!claimed) return untilRead(document);
    const outcome = await outcomeOf(document);
    await db.transaction((tx) => settleDocument(tx, document, { origin, until }, outcome));
  }

  async function outcomeOf<T>(document: ProviderDocument<T>) {
    try {
      const value = await document.load(AbortSignal.any([AbortSignal.timeout(loadMs), closing.signal]));
      const content = toJson(value);
      const now = clock();
      return {
        content,
        content_sha: sha256(content),
        fetched_at: now,
        refresh_at: now + document.freshMs,
        failure: null,
      };
    } catch (error) {
      const { kind, name, workspaceId } = document;
      if (!closing.signal.aborted)
        logger.warn({ err: error, kind, name, workspaceId }, "a provider could not be read");
      return { failure: sentenceOf(error), refresh_at: Math.max(clock() + backoffMs, retryAtOf(error)) };
    }
  }

  /** Another process has the claim: waits until it has settled it. */
  async function untilRead(document: DocumentKey): Promise<void> {
    const end = performance.now() + loadMs;
    while (performance.now() < end && !closing.signal.aborted) {
      await sleep(pollMs);
      const row = await find(document);
      if (!row || row.content_sha !== null || row.failure !== null || clock() >= row.refresh_at) return;
    }
  }

  async function waitFor<T>(document: ProviderDocument<T>, row: DocumentRow | undefined) {
    const patience = new AbortController();
    const waited = sleep(waitMs, undefined, { signal: patience.signal, ref: false }).catch(() => {});
    await Promise.race([refresh(document, row), waited]);
    patience.abort();
    return readingOf(document, await find(document));
  }

  return {
    async read(document) {
      const row = await find(document);
      const reading = await readingOf(document, row);
      const due = row?.origin !== document.origin || clock() >= row.refresh_at;
      if (reading.value === undefined && !reading.failure) return waitFor(document, row);
      if (due) void refresh(document, row);
      return reading;
    },
    async recheck(document, maxAgeMs) {
      const row = await find(document);
      const reading = await readingOf(document, row);
      const settled = row !== undefined && clock() < row.refresh_at;
      const isNew = row?.fetched_at != null && clock() - row.fetched_at < maxAgeMs;
      if (settled && (reading.failure || (isNew && reading.value !== undefined))) return reading;
      return waitFor(document, row);
    },
    expire: (tx, key) => expireDocument(tx, key, clock()),
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
    },
  };
}

/** An integration's failure has a sentence for members; what anything else says may not be meant for them. */
const sentenceOf = (error: unknown): string =>
  error instanceof IntegrationFailure ? error.message : "The provider cannot be read at the moment.";

const retryAtOf = (error: unknown): number =>
  error instanceof IntegrationFailure ? (error.retryAt ?? 0) : 0;

/** Removes what nobody has asked for in a month, such as the accounts of members who left. */
export const forgetOldDocuments = (tx: Tx, now: number): Promise<void> => forgetDocuments(tx, now - month);
