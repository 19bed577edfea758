import { z } from "zod";
import type { CatalogSync } from "../agents/index.ts";
import {
  type DeliveryRow,
  failDelivery,
  findEvent,
  readPayload,
  settleDelivery,
} from "../deliveries/index.ts";
import type { Database } from "../platform/db/index.ts";
import { errorText } from "../platform/errors.ts";
import { type Job, type JobKind, RetryLater } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Consider, Subject } from "../pull-requests/index.ts";
import { type RepositoryReader, RepositoryUnavailable } from "../repositories/index.ts";
import { actionOf, analyzeDelivery } from "./analyze-delivery.ts";
import type { Decision } from "./decision.ts";

export interface WorkOffDeps {
  db: Database;
  logger: Logger;
  reader: RepositoryReader;
  catalog: Pick<CatalogSync, "request">;
  /** The branch that was chosen; undefined for the default branch. */
  branch: string | undefined;
  /** Looks at pull requests and merge groups; undefined where the repository has none. */
  consider: Consider | undefined;
}

export const deliveryJobKind = "github.delivery";

const Payload = z.object({ deliveryId: z.string() });

const maxAttempts = 6;

/** GitHub's API may be some seconds behind its own deliveries. */
const behindMs = 2_000;
const mostBehind = 3;

/** Nothing but its delivery tells of a pull request, so that it outlasts an hour without GitHub. */
const patienceMs = [2_000, 15_000, 120_000, 900_000, 3_000_000];

type Settled = Pick<DeliveryRow, "state" | "reason">;

/**
 * Works a delivery off: analyse, then apply. Any worker may do it, for the catalog that all of them share. Doing
 * it again does no harm, because a delivery only says that the repository should be looked at.
 */
export function deliveryJob(deps: WorkOffDeps): JobKind<typeof Payload> {
  return {
    kind: deliveryJobKind,
    payload: Payload,
    // A payload can be 25 MB; and more of them at once would keep senders waiting for their answers.
    concurrency: 10,
    maxAttempts,
    backoff: { base: 2_000, cap: 60_000 },
    handle: (job) => workOff(deps, job),
    // Only when workers died again and again.
    onDead: (tx, { deliveryId }, error) => failDelivery(tx, deliveryId, error),
  };
}

async function workOff(deps: WorkOffDeps, job: Job<z.infer<typeof Payload>>): Promise<void> {
  const { db, logger } = deps;
  const { deliveryId } = job.payload;
  const [event, body] = await Promise.all([findEvent(db.read, deliveryId), readPayload(db.read, deliveryId)]);
  if (event === undefined || body === undefined) return;
  const { decision, action } = analyze(deps, event, body);
  let settled: Settled;
  try {
    settled = await apply(deps, decision, job.attempt);
  } catch (error) {
    const reason = errorText(error);
    if (job.attempt < maxAttempts) {
      await noteRetry(deps, job, { action, reason });
      throw error;
    }
    // Given up without a dead job: the delivery itself can be replayed.
    logger.error({ err: error, delivery: deliveryId }, "a delivery was given up");
    settled = { state: "failed", reason };
  }
  await db.commit({
    run: async (tx) => {
      await job.complete(tx);
      await settleDelivery(tx, deliveryId, { ...settled, action });
    },
  });
}

function noteRetry(
  { db }: WorkOffDeps,
  job: Job<z.infer<typeof Payload>>,
  noted: Pick<DeliveryRow, "action" | "reason">,
): Promise<void> {
  return db.commit({
    run: async (tx) => {
      await job.hold(tx);
      await settleDelivery(tx, job.payload.deliveryId, noted);
    },
  });
}

function analyze(
  { reader, branch }: WorkOffDeps,
  event: string,
  body: Buffer,
): { decision: Decision; action: string | null } {
  let content: unknown;
  try {
    content = JSON.parse(body.toString("utf8"));
  } catch {
    return { decision: { result: "unreadable", reason: "The payload is not JSON." }, action: null };
  }
  const decision = analyzeDelivery(event, content, { repository: reader.label, branch });
  return { decision, action: actionOf(content) };
}

async function apply(deps: WorkOffDeps, decision: Decision, attempt: number): Promise<Settled> {
  switch (decision.result) {
    case "changed":
      return follow(deps, decision, attempt);
    case "disconnected":
      return leave(deps, decision.reason);
    case "proposed":
      return look(deps, decision, attempt);
    case "ignored":
      return { state: "ignored", reason: decision.reason };
    case "unreadable":
      return { state: "failed", reason: decision.reason };
  }
}

/** Throws while the repository cannot be read, so that it is tried again before the next regular look. */
async function follow(
  { logger, reader, catalog }: WorkOffDeps,
  { before, defaultBranch, note }: Extract<Decision, { result: "changed" }>,
  attempt: number,
): Promise<Settled> {
  if (note !== undefined) logger.warn({ repository: reader.label, note }, "the repository has another name");
  if (defaultBranch !== undefined && defaultBranch !== reader.branch()) reader.forget();
  const commitSha = await catalog.request().catch(waiting);
  if (commitSha === before && attempt <= mostBehind) {
    throw new RetryLater("GitHub still shows the commit before the push; it is asked again.", behindMs);
  }
  return { state: "done", reason: note ?? null };
}

function waiting(error: unknown): never {
  if (!(error instanceof RepositoryUnavailable) || error.retryAt === undefined) throw error;
  throw new RetryLater(error.message, Math.max(0, error.retryAt - Date.now()));
}

/** Throws while GitHub cannot be asked about a pull request or merge group, or does not know the newest of it. */
async function look(
  { consider }: WorkOffDeps,
  { subject, before }: Extract<Decision, { result: "proposed" }>,
  attempt: number,
): Promise<Settled> {
  if (!consider) return { state: "ignored", reason: "Pull requests of this repository are not evaluated." };
  const seen = await consider(subject).catch((error: unknown) => {
    if (!(error instanceof RepositoryUnavailable)) throw error;
    const delayMs = Math.max(patienceMs[attempt - 1] ?? 0, (error.retryAt ?? 0) - Date.now());
    throw new RetryLater(error.message, delayMs);
  });
  if (attempt <= mostBehind && isBehind(subject, seen, before)) {
    throw new RetryLater("GitHub does not show the proposed commit yet; it is asked again.", behindMs);
  }
  return { state: "done", reason: null };
}

function isBehind(subject: Subject, seen: string | undefined, before: string | undefined): boolean {
  switch (subject.kind) {
    case "pull_request":
      return before !== undefined && seen === before;
    case "merge_group":
      return !subject.destroyed && seen !== subject.headSha;
  }
}

/** The failed reading is what marks the catalog stale; one that succeeds means that access came back meanwhile. */
async function leave({ logger, reader, catalog }: WorkOffDeps, reason: string): Promise<Settled> {
  logger.warn({ repository: reader.label, reason }, "the repository was disconnected");
  reader.forget();
  await catalog.request().catch((error: unknown) => {
    if (!(error instanceof RepositoryUnavailable)) throw error;
  });
  return { state: "done", reason };
}
