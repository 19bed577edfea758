import type { Database, Queryable, Rows, Tx } from "../db/index.ts";
import { badRequest, conflict } from "../errors.ts";
import { sha256 } from "../secrets.ts";

/** An answer kept for an Idempotency-Key. `json` is null when it held a secret or was empty. */
export interface KeptAnswer {
  status: number;
  json: string | null;
  target: string;
}

/** The key of one request: `id` is its row, `bodyHash` tells whether the body is the same again. */
export interface IdempotentRequest {
  id: string;
  bodyHash: string;
}

const keepMs = 24 * 60 * 60 * 1000;

/** Reads the header. `scope` is member, method and path. Throws 400 for a key of another shape. */
export function idempotentRequest(
  header: string | undefined,
  scope: string,
  body: unknown,
): IdempotentRequest | undefined {
  if (header === undefined) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(header))
    throw badRequest("Use an Idempotency-Key of 1 to 255 printable characters.");
  return { id: sha256(`${scope}\n${header}`), bodyHash: sha256(JSON.stringify(body ?? null)) };
}

/** A row of `idempotency_keys`. */
interface KeptRow {
  id: string;
  body_hash: string;
  status: number;
  answer: string | null;
  target: string;
}

/** What is kept for these keys, by the ids of requests. */
export async function readKeptAnswers(q: Queryable, ids: readonly string[]): Promise<Map<string, KeptRow>> {
  const rows: KeptRow[] = await q("idempotency_keys").whereIn("id", ids);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The kept answer for this key, if there is one. Throws 409 when it was given to another body. */
export async function findKeptAnswer(
  db: Database,
  request: IdempotentRequest,
): Promise<KeptAnswer | undefined> {
  const row = (await readKeptAnswers(db.read, [request.id])).get(request.id);
  return row && keptFor(request, row);
}

/** The answer that a row holds for this request. Throws 409 when it was given to another body. */
export function keptFor(request: IdempotentRequest, row: KeptRow): KeptAnswer {
  if (row.body_hash !== request.bodyHash) {
    throw conflict("This Idempotency-Key was used with another body; choose a new key for a new request.");
  }
  if (row.answer === null && row.status !== 204) {
    throw conflict(
      `This request was carried out already, and its answer is shown only once; look at ${row.target}.`,
      {
        target: row.target,
      },
    );
  }
  return { status: row.status, json: row.answer, target: row.target };
}

/** The row that keeps an answer, for the transaction of the write itself. */
export function keptAnswerRow(request: IdempotentRequest, kept: KeptAnswer, now: number): Rows[number] {
  return {
    table: "idempotency_keys",
    row: {
      id: request.id,
      body_hash: request.bodyHash,
      created_at: now,
      status: kept.status,
      answer: kept.json,
      target: kept.target.slice(0, 255),
    },
  };
}

/** Forgets answers older than a day. Returns their number. */
export async function forgetOldAnswers(tx: Tx, now: number): Promise<number> {
  return tx("idempotency_keys")
    .where("created_at", "<", now - keepMs)
    .delete();
}
