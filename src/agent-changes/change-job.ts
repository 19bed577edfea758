import { z } from "zod";
import type { Members } from "../access/index.ts";
import { describeFailure, RunFailure } from "../frameworks/index.ts";
import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Database, fromJson, type Tx, toJson } from "../platform/db/index.ts";
import { AppError, errorText } from "../platform/errors.ts";
import { atLeast } from "../platform/http/index.ts";
import { type Job, type JobKind, LeaseLost, RetryLater } from "../platform/jobs/index.ts";
import type { Logger } from "../platform/logger.ts";
import type { Redactor } from "../platform/redact.ts";
import { RepositoryUnavailable, type RepositoryWriter } from "../repositories/index.ts";
import { BudgetExceeded, type Budgets, type RunSignals } from "../runs/index.ts";
import type { Settings } from "../settings/index.ts";
import { branchOf, describeChange } from "./describe.ts";
import { awaitSuite, prepareSuite } from "./evaluate.ts";
import type { Suites } from "./ports.ts";
import { taskUrl } from "./present.ts";
import { Draft, Evaluation } from "./schema.ts";
import { type ChangeRow, findChange, updateChange } from "./store.ts";
import { createTill } from "./till.ts";
import { ChangeFailed, createWriteDraft, type DraftDeps } from "./write-draft.ts";

export interface ChangeJobDeps extends DraftDeps {
  db: Database;
  clock: Clock;
  logger: Logger;
  redactor: Pick<Redactor, "scrub">;
  members: Pick<Members, "roles">;
  settings: Pick<Settings, "authoring" | "modelKeys">;
  suites: Suites;
  writer: RepositoryWriter;
  budgets: Pick<Budgets, "guardCalls" | "charge">;
  publicUrl: string | undefined;
}

export const changeJobKind = "agent_change";

export const ChangePayload = z.object({ changeId: z.string() });
type ChangeJob = Job<z.infer<typeof ChangePayload>>;

/** Waits grow to a minute, half of that on average. */
const maxAttempts = 10;
const backoff = { base: 2_000, cap: 60_000 };

/** What is forbidden or gone may be so only for the moment that an installation takes. */
const mostRefusals = 3;

/** Tries after failures that nobody has thought of. */
const mostSurprises = 3;

type Outcome = Partial<ChangeRow> & Pick<ChangeRow, "status">;

/**
 * Makes the kind of job that takes a change from its description to the repository. Each stage is stored before the next one
 * begins: a worker that takes over writes nothing anew, makes no second suite, and finds the branch and the pull request
 * by the name that they have from the change's id.
 */
export function createChangeJob(
  deps: ChangeJobDeps & { signals: RunSignals },
): JobKind<typeof ChangePayload> {
  const { db, clock, logger, suites, writer, settings, signals } = deps;
  const writeDraft = createWriteDraft(deps);

  async function handle(job: ChangeJob): Promise<void> {
    const row = await findChange(db.read, job.payload.changeId);
    if (!row || row.finished_at !== null) return;
    try {
      await end(job, row, await work(job, row));
    } catch (error) {
      job.signal.throwIfAborted();
      const reason = finalReason(error, job.attempt);
      if (reason === undefined) throw later(error);
      logger.info({ err: error, change: row.id }, "an agent change failed");
      await end(job, row, { status: "failed", error: reason });
    }
  }

  async function work(job: ChangeJob, row: ChangeRow): Promise<Outcome> {
    await requireOperator(row);
    const { baseSha, draft } = await drafted(job, row);
    const evaluation = await evaluated(job, row, baseSha, draft);
    const { commitMode } = await settings.authoring(row.workspace_id);
    const files = withoutSecrets(draft.files);
    const texts = scrubbed(describeChange(row, draft, evaluation, taskUrl(deps.publicUrl, row.id)));
    const branch = branchOf(row);
    job.signal.throwIfAborted();
    // The evals took minutes, in which much can happen to a member.
    await requireOperator(row);
    const isDirect = commitMode === "direct";
    const written = isDirect
      ? await writer.commit({ baseSha, files, message: texts.message })
      : await writer.propose({ branch, baseSha, files, ...texts });
    if ("refused" in written) throw new ChangeFailed(written.refused);
    const { commitSha: commit_sha, url = null } = written;
    return isDirect
      ? { status: "committed", commit_sha, url }
      : { status: "proposed", commit_sha, url, branch };
  }

  /** What a member pasted into the description, or a tool answered, is not to be published beside the files. */
  function scrubbed<T extends Record<string, string>>(texts: T): T {
    return Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, deps.redactor.scrub(text)]),
    ) as T;
  }

  /** A file that is not what was evaluated must not take the place of one that was. */
  function withoutSecrets(files: Draft["files"]): Draft["files"] {
    const holder = files.find(({ text }) => deps.redactor.scrub(text) !== text);
    if (holder === undefined) return files;
    throw new ChangeFailed(
      `${holder.path} would have held a key or token, which does not belong in a repository; leave it out of the description and ask again.`,
    );
  }

  async function requireOperator({ workspace_id, requested_by }: ChangeRow): Promise<void> {
    const role = (await deps.members.roles(db.read, workspace_id, [requested_by])).get(requested_by);
    if (role === undefined || !atLeast(role, "operator"))
      throw new ChangeFailed(`${requested_by} may not change agents any more; another operator has to ask.`);
  }

  /** What an earlier attempt has stored, or what is written now. */
  async function drafted(job: ChangeJob, row: ChangeRow): Promise<{ baseSha: string; draft: Draft }> {
    if (row.draft !== null && row.base_sha !== null)
      return { baseSha: row.base_sha, draft: fromJson(Draft, row.draft) };
    if (row.status === "queued") await store(job, row, { status: "running" });
    const made = await writeDraft(row, { signal: job.signal, till: createTill(deps, job, row) });
    await store(job, row, { base_sha: made.baseSha, draft: toJson(made.draft) });
    return made;
  }

  async function evaluated(
    job: ChangeJob,
    row: ChangeRow,
    baseSha: string,
    draft: Draft,
  ): Promise<Evaluation> {
    if (row.evaluation !== null) return fromJson(Evaluation, row.evaluation);
    const evalId = row.eval_id ?? (await queued(job, row, baseSha, draft));
    const evaluation =
      typeof evalId === "string" ? await awaitSuite(deps, row.workspace_id, evalId, job.signal) : evalId;
    await store(job, row, { evaluation: toJson(evaluation) });
    return evaluation;
  }

  /** The id of a new suite, committed together with the change's knowledge of it. */
  async function queued(job: ChangeJob, row: ChangeRow, baseSha: string, draft: Draft) {
    const suite = await prepareSuite(suites, row, draft, baseSha);
    if (!("rows" in suite)) return suite;
    const { id, rows, committed } = suite;
    const run = async (tx: Tx) => {
      await job.hold(tx);
      await updateChange(tx, row.id, { eval_id: id, updated_at: clock() });
    };
    await db.commit({ run, rows, committed });
    return id;
  }

  const store = (job: ChangeJob, row: ChangeRow, change: Partial<ChangeRow>) =>
    db.transaction(async (tx) => {
      await job.hold(tx);
      await updateChange(tx, row.id, { ...change, updated_at: clock() });
      afterCommit(tx, () => signals.notify(row.id));
    });

  const end = (job: ChangeJob, row: ChangeRow, outcome: Outcome) =>
    db.transaction(async (tx) => {
      await finish(tx, row.id, outcome);
      await job.complete(tx);
    });

  async function finish(tx: Tx, id: string, outcome: Outcome): Promise<void> {
    const now = clock();
    await updateChange(tx, id, { ...outcome, creating: null, updated_at: now, finished_at: now });
    afterCommit(tx, () => signals.notify(id));
  }

  return {
    kind: changeJobKind,
    payload: ChangePayload,
    concurrency: 4,
    maxAttempts,
    backoff,
    handle,
    async onDead(tx, { changeId }, error) {
      logger.error({ change: changeId, reason: error }, "an agent change was given up");
      await finish(tx, changeId, {
        status: "failed",
        error: "The change could not be finished; ask for it again.",
      });
    },
  };
}

/** What members are told of a failure that no further try would change; undefined for any other. */
function finalReason(error: unknown, attempt: number): string | undefined {
  if (error instanceof ChangeFailed) return error.message;
  if (error instanceof BudgetExceeded) return error.refusal;
  if (error instanceof RunFailure) {
    const { message } = describeFailure(error.code);
    return `The authoring agent did not come to an end. ${message}`;
  }
  if (!(error instanceof RepositoryUnavailable)) {
    // Each try may have the model write anew, which costs something.
    const mayPass = error instanceof LeaseLost || error instanceof AppError || attempt < mostSurprises;
    return mayPass ? undefined : "It failed for a reason inside Rollcall; ask for the change again.";
  }
  const isRefusal = error.reason === "forbidden" || error.reason === "not_found";
  return isRefusal && attempt >= mostRefusals ? errorText(error) : undefined;
}

function later(error: unknown): unknown {
  if (!(error instanceof RepositoryUnavailable) || error.retryAt === undefined) return error;
  return new RetryLater(error.message, Math.max(0, error.retryAt - Date.now()));
}
