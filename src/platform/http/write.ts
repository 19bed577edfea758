import type { Clock } from "../clock.ts";
import { type Database, isContention, isUniqueViolation, type Rows } from "../db/index.ts";
import { AppError, conflict } from "../errors.ts";
import type { Actor } from "./actor.ts";
import { errorBody } from "./answer-error.ts";
import type { Writes, Written } from "./endpoint.ts";
import { findKeptAnswer, type IdempotentRequest, type KeptAnswer, keptAnswerRow } from "./idempotency.ts";

/** What the audit log is told of a write. */
export interface AuditEntry {
  actor: Actor;
  action: string;
  target: string;
  details: Record<string, unknown> | undefined;
  requestId: string;
}

export interface WriteContext {
  db: Database;
  clock: Clock;
  auditRow(entry: AuditEntry): Rows[number];
  actor: Actor;
  action: string;
  requestId: string;
  idempotent: IdempotentRequest | undefined;
  /** Status of the endpoint's answer. */
  status: number;
  /** Text of the answer as it is sent; null when nothing of it may be kept. */
  serialise(answer: unknown): string | null;
}

/** Thrown inside a write whose key was used by a request that committed first. */
export class AnsweredBefore extends Error {
  readonly kept: KeptAnswer;

  constructor(kept: KeptAnswer) {
    super("This request was answered before.");
    this.kept = kept;
  }
}

/** The two ways a handler writes; each adds the audit entry and the kept answer to the handler's commit. */
export function createWrites(context: WriteContext): Writes {
  const { db } = context;

  const sideRows = <T>({ answer, target, details }: Written<T>): Rows => {
    const { actor, action, requestId, idempotent, status } = context;
    const audit = context.auditRow({ actor, action, target, details, requestId });
    if (!idempotent) return [audit];
    return [
      audit,
      keptAnswerRow(idempotent, { status, json: context.serialise(answer), target }, context.clock()),
    ];
  };

  return {
    transaction: (work) =>
      answeringTwins(context, () =>
        db.transaction(async (tx) => {
          const written = await work(tx);
          for (const { table, row } of sideRows(written)) await tx(table).insert(row);
          return written.answer;
        }),
      ),
    insert: (written) =>
      answeringTwins(context, async () => {
        await db.commit({ rows: [...written.rows, ...sideRows(written)], committed: written.committed });
        return written.answer;
      }),
  };
}

/** The row of the key is unique: the request that commits second learns it here and is answered like the first. */
async function answeringTwins<T>(context: WriteContext, commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    if (!context.idempotent) throw error;
    if (error instanceof AppError && isContention(error.cause)) {
      throw conflict("A request with this Idempotency-Key is still under way; try again.", undefined, {
        "Retry-After": "1",
      });
    }
    // The work of the later twin may refuse what the earlier one has just done: that is no answer for a repetition.
    const late = isUniqueViolation(error) || (error instanceof AppError && error.status < 500);
    const kept = late ? await findKeptAnswer(context.db, context.idempotent) : undefined;
    throw kept ? new AnsweredBefore(kept) : error;
  }
}

/** Keeps a refusal that depends on the state of things, so that a repetition is refused alike. */
export async function keepRefusal(context: WriteContext, error: AppError): Promise<void> {
  if (!context.idempotent || ![404, 409, 422].includes(error.status)) return;
  const kept = { status: error.status, json: JSON.stringify(errorBody(error)), target: "" };
  const row = keptAnswerRow(context.idempotent, kept, context.clock());
  await context.db.commit({ rows: [row] }).catch((failure) => {
    if (!isUniqueViolation(failure)) throw failure;
  });
}
