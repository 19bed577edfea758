import {
  type Agents,
  type Draft,
  findStable,
  holdVersions,
  listSnapshots,
  makeNumberStable,
  makeSnapshotStable,
  readDraft,
  type Snapshot,
} from "../agents/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import { conflict } from "../platform/errors.ts";
import type { Actor, Writes, Written } from "../platform/http/index.ts";
import { type NewestVerdict, passGate } from "./gate.ts";
import { presentPromoted, presentVersion } from "./present.ts";
import type { Promoted } from "./schema.ts";

export interface PromotionDeps {
  db: Database;
  clock: Clock;
  agents: Pick<Agents, "resolve">;
  newestVerdict: NewestVerdict;
}

export type Promotion = ReturnType<typeof createPromotion>;

interface Request {
  actor: Actor;
  agent: string;
  write: Writes;
}

/** The draft is no longer the one that was checked. */
class DraftChanged extends Error {}

/** Times that a draft is checked anew because a commit came in between. */
const mostChecks = 5;

export function createPromotion({ db, clock, agents, newestVerdict }: PromotionDeps) {
  /**
   * Makes a snapshot of the draft, or takes the one that is its equal, and makes that stable. What passed the gate
   * is what becomes stable, whatever is committed meanwhile. Throws 404, 422 (draft not valid) or 409 (gate closed).
   */
  async function promoteDraft({ actor, agent, write }: Request): Promise<Promoted> {
    const { workspaceId } = actor;
    for (let checks = 0; checks < mostChecks; checks++) {
      const draft = await readDraft(db.read, workspaceId, agent);
      const stable = await findStable(db.read, workspaceId, agent);
      // What is stable stays so, also when its evals were run again and failed.
      const evalId = equals(stable, draft) ? undefined : await passGate(newestVerdict, workspaceId, draft);
      try {
        return await write.transaction((tx) => makeStable(tx, actor, draft, evalId));
      } catch (error) {
        if (!(error instanceof DraftChanged)) throw error;
      }
    }
    throw conflict(`The draft of ${agent} keeps changing; promote it when its commits have come to rest.`);
  }

  /** `evalId` is undefined when the gate was not asked because the draft was stable already. */
  async function makeStable(
    tx: Tx,
    { workspaceId, login }: Actor,
    checked: Draft,
    evalId: string | null | undefined,
  ): Promise<Written<Promoted>> {
    await holdVersions(tx, workspaceId);
    const draft = await readDraft(tx, workspaceId, checked.agent);
    const before = await findStable(tx, workspaceId, draft.agent);
    if (before && equals(before, draft)) return written({ kind: "promotion", before, after: before, draft });
    const evalSha = evalShaOf(draft);
    const same = draft.specSha === checked.specSha && evalSha === evalShaOf(checked);
    if (!same || evalSha === undefined || evalId === undefined) throw new DraftChanged();
    const { agent, framework, specSha, commitSha } = draft;
    const after = await makeSnapshotStable(tx, workspaceId, {
      ...{ agent, framework, specSha, commitSha, evalSha, evalId },
      ...{ promotedBy: login, createdAt: clock() },
    });
    return written({ kind: "promotion", before, after, draft, evalId });
  }

  /** Makes an earlier snapshot stable without asking the gate. Throws 404, or 422 when it cannot be run any more. */
  async function rollBack({ actor, agent, write }: Request, number: number): Promise<Promoted> {
    const { workspaceId } = actor;
    await agents.resolve(workspaceId, agent, String(number));
    return write.transaction(async (tx) => {
      await holdVersions(tx, workspaceId);
      const before = await findStable(tx, workspaceId, agent);
      const after = await makeNumberStable(tx, workspaceId, agent, number);
      return written({ kind: "rollback", before, after });
    });
  }

  /** A page of snapshots, newest first. Throws 404 for a name that never was. */
  async function list(workspaceId: string, agent: string, limit: number, before: number | undefined) {
    const rows = await listSnapshots(db.read, workspaceId, agent, { limit: limit + 1, before });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      versions: page.map(presentVersion),
      nextBefore: rows.length > limit && last ? String(last.number) : null,
    };
  }

  return { promoteDraft, rollBack, list };
}

interface Change {
  kind: "promotion" | "rollback";
  before: Snapshot | undefined;
  after: Snapshot;
  draft?: Draft;
  /** The suite that opened the gate this time; an earlier one may have done so when the snapshot was made. */
  evalId?: string | null;
}

function written({ kind, before, after, draft, evalId }: Change): Written<Promoted> {
  return {
    answer: presentPromoted(after, draft),
    target: after.agent,
    details: { kind, before: before?.number ?? null, after: after.number, ...(evalId ? { evalId } : {}) },
  };
}

function equals(snapshot: Snapshot | undefined, draft: Draft): boolean {
  return snapshot?.specSha === draft.specSha && snapshot.evalSha === evalShaOf(draft);
}

/** Null without an eval file, undefined for one that is broken: no snapshot has that. */
function evalShaOf({ evals }: Draft): string | null | undefined {
  switch (evals.kind) {
    case "none":
      return null;
    case "valid":
      return evals.sha;
    case "broken":
      return undefined;
  }
}
