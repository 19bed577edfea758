import type { Agents } from "../agents/index.ts";
import { settleDelivery } from "../deliveries/index.ts";
import type { Clock } from "../platform/clock.ts";
import { afterCommit, type Database, insertAll, type Tx, toJson } from "../platform/db/index.ts";
import type { Runs } from "../runs/index.ts";
import {
  askAgain,
  chooseAgent,
  mostOffered,
  nobodyThere,
  notAnyMore,
  pickOf,
  sayHow,
} from "./choose-agent.ts";
import { answerOf, type Exchange, withHistory } from "./conversation.ts";
import {
  choiceOf,
  lockThread,
  type ThreadRow,
  type TurnRow,
  turnsBefore,
  updateThread,
  updateTurn,
} from "./conversation-store.ts";
import type { Identify } from "./identify.ts";
import { launchableBy } from "./launchable.ts";
import { ChatFailure } from "./platforms/index.ts";
import { type StartDeps, startRun } from "./start-run.ts";
import { dismissTurn } from "./stop-thread.ts";
import type { ChatAppRow } from "./store.ts";

export interface TakeTurnDeps extends StartDeps {
  db: Database;
  clock: Clock;
  agents: StartDeps["agents"] & Pick<Agents, "list" | "spec">;
  runs: StartDeps["runs"] & Pick<Runs, "find">;
  identify: Identify;
}

/** A conversation that a job has in its hands. */
export interface ThreadContext {
  thread: ThreadRow;
  /** Undefined when it was deleted. */
  app: ChatAppRow | undefined;
  /** Makes sure, until the transaction ends, that no other job has it. */
  hold(tx: Tx): Promise<void>;
}

/** Exchanges that are passed on at the most; see also withHistory. */
const mostExchanges = 20;

/** Takes the next message: starts its run, asks which agent is meant, or says why there is none. */
export async function begin(deps: TakeTurnDeps, context: ThreadContext, turn: TurnRow): Promise<true> {
  const { thread, app } = context;
  const why = unusable(app);
  if (!app || why !== undefined) return dismiss(deps, context, turn, why ?? "");
  const candidates = await launchableBy(deps.agents, app);
  const choice = chooseAgent({
    ...{ text: turn.body, candidates, threadAgent: thread.agent, defaultAgent: app.default_agent },
  });
  switch (choice.kind) {
    case "run":
      return start(deps, { ...context, app }, { ...turn, body: choice.text }, choice.agent);
    case "ask":
      return change(deps, context, async (tx) => {
        const offered = toJson(candidates.slice(0, mostOffered));
        await updateTurn(tx, turn, { state: "choosing", choice: offered, updated_at: deps.clock() });
      });
    case "nobody":
      return reply(deps, context, turn, nobodyThere, "No agent carries a label that the bot may launch.");
    case "empty":
      return reply(deps, context, turn, sayHow(candidates.slice(0, mostOffered)), "The message is empty.");
  }
}

/** Takes a message of whoever was asked for the answer. */
export async function pick(
  deps: TakeTurnDeps,
  context: ThreadContext,
  choosing: TurnRow,
  answer: TurnRow,
): Promise<true> {
  const { app } = context;
  const why = unusable(app);
  if (!app || why !== undefined) {
    await dismiss(deps, context, answer, why ?? "");
    return dismiss(deps, context, choosing, why ?? "");
  }
  const options = choiceOf(choosing);
  const agent = pickOf(answer.body, options);
  if (agent === undefined)
    return reply(deps, context, answer, askAgain(options), "It names none of the agents that were offered.");
  if (!(await launchableBy(deps.agents, app)).includes(agent))
    return reply(deps, context, answer, notAnyMore(agent), "It chose an agent that the bot may not launch.");
  const took = (tx: Tx) =>
    dismissTurn(deps, tx, answer, `It chose the agent ${agent} for the message before.`, "done");
  return start(deps, { ...context, app }, choosing, agent, took);
}

const unusable = (app: ChatAppRow | undefined): string | undefined => {
  if (!app) return "The chat app was deleted.";
  if (app.enabled !== 1) return "The chat app is disabled.";
  return app.state === "live" ? undefined : "The chat app is not installed.";
};

/** The run, its job, the turn and the delivery's end are one commit; `also` is done in it, and false undoes it all. */
async function start(
  deps: TakeTurnDeps,
  context: ThreadContext & { app: ChatAppRow },
  turn: TurnRow,
  agent: string,
  also: (tx: Tx) => Promise<boolean> = async () => true,
): Promise<true> {
  const { thread, app } = context;
  const runAs = await runAsOf(deps, context, turn);
  if (runAs === undefined) return true;
  const message = withHistory(await historyOf(deps, thread, turn), turn.body);
  const wanted = { workspaceId: app.workspace_id, agent, runAs, message };
  const { runId, state, reason, rows, committed } = await startRun(deps, wanted);
  return change(deps, context, async (tx) => {
    const now = deps.clock();
    const begun = { agent, body: turn.body, run_id: runId, reply_ts: null, posted: 0, updated_at: now };
    // It may have been stopped, or picked by nobody, meanwhile.
    if (!(await updateTurn(tx, turn, { ...begun, state: "running" })) || !(await also(tx)))
      throw new Meanwhile();
    await updateThread(tx, thread.id, { agent });
    await settleDelivery(tx, turn.delivery_id, { state, reason, run_id: runId });
    await insertAll(tx, rows);
    if (committed) afterCommit(tx, committed);
  });
}

/** Undefined: the app is not installed any more, and the turn was ended with that. */
async function runAsOf(
  deps: TakeTurnDeps,
  context: ThreadContext & { app: ChatAppRow },
  turn: TurnRow,
): Promise<string | undefined> {
  try {
    return await deps.identify(context.app, turn.user_id);
  } catch (error) {
    if (!(error instanceof ChatFailure) || error.kind !== "unauthorised") throw error;
    await dismiss(deps, context, turn, error.message);
    return undefined;
  }
}

async function historyOf({ db, runs }: TakeTurnDeps, thread: ThreadRow, turn: TurnRow): Promise<Exchange[]> {
  const before = await turnsBefore(db.read, thread.id, turn.message_ts, mostExchanges);
  const found = await runs.find(before.flatMap(({ run_id }) => run_id ?? []));
  return before.flatMap(({ agent, body, run_id }) => {
    const run = found.get(run_id ?? "");
    return run ? [{ agent: agent ?? run.agent, text: body, answer: answerOf(run) }] : [];
  });
}

const dismiss = (deps: TakeTurnDeps, context: ThreadContext, turn: TurnRow, reason: string) =>
  change(deps, context, async (tx) => void (await dismissTurn(deps, tx, turn, reason)));

/** Ends a message with an answer of the bot's own. */
function reply(
  deps: TakeTurnDeps,
  context: ThreadContext,
  turn: TurnRow,
  notice: string,
  reason: string,
): Promise<true> {
  return change(deps, context, async (tx) => {
    if (!(await updateTurn(tx, turn, { state: "answering", notice, reason, updated_at: deps.clock() })))
      return;
    await settleDelivery(tx, turn.delivery_id, { state: "ignored", reason });
  });
}

/** Something else has happened to the turn; what there is now is looked at anew. */
class Meanwhile extends Error {}

async function change(
  { db }: TakeTurnDeps,
  { thread, hold }: ThreadContext,
  work: (tx: Tx) => Promise<void>,
): Promise<true> {
  try {
    await db.commit({
      async run(tx) {
        await lockThread(tx, thread.id);
        await work(tx);
        await hold(tx);
      },
    });
  } catch (error) {
    if (!(error instanceof Meanwhile)) throw error;
  }
  return true;
}
