import { onTestFinished } from "vitest";
import { createAgents, createCatalogSync } from "../../../src/agents/index.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { type Database, openDatabase } from "../../../src/platform/db/index.ts";
import { sha256 } from "../../../src/platform/secrets.ts";
import { createPromotion, type NewestVerdict, promotionEndpoints } from "../../../src/promotion/index.ts";
import { openRepository } from "../../../src/repositories/index.ts";
import { type ApiAnswer, type CallOptions, startApi } from "../../support/api.ts";
import { type Engine, freshDatabase } from "../../support/databases.ts";
import { createTestRepository, type TestFile } from "../../support/git-repository.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

type Verdict = Awaited<ReturnType<NewestVerdict>>;

export interface PromotionService {
  db: Database;
  workspaceId: string;
  /** Commits these files on top of those that are there (null deletes) and syncs the catalog. */
  commit(changes: Readonly<Record<string, TestFile | null>>): Promise<string>;
  /** Takes the repository away and syncs. */
  loseRepository(): Promise<void>;
  /** Says how the newest suite over these texts of an agent ended. */
  judge(agent: string, spec: string, evals: string, verdict: Verdict): void;
  /** Called before a verdict is answered, with the number of verdicts asked for so far. */
  beforeVerdict(hook: (asked: number) => Promise<unknown>): void;
  /** Asks the first or the second process, as the admin unless a key is given. */
  call(method: string, path: string, options?: CallOptions & { process?: 0 | 1 }): Promise<ApiAnswer>;
  promote(agent: string, version?: unknown, options?: CallOptions & { process?: 0 | 1 }): Promise<ApiAnswer>;
  addMember: Awaited<ReturnType<typeof setUpWorkspace>>["addMember"];
  /** Details of the audit entries of promotions, oldest first. */
  audited(): Promise<unknown[]>;
}

/** Promotion over a real catalog and database, in two processes' worth of connections; suites are as told. */
export async function startPromotion(engine: Engine): Promise<PromotionService> {
  const { db, config } = await freshDatabase(engine);
  const { workspaceId, access, adminKey, logger, addMember } = await setUpWorkspace(db);
  const repository = await createTestRepository();
  onTestFinished(repository.remove);
  const { reader } = openRepository({ kind: "local", path: repository.gitdir });
  const schemas = frameworkSpecs;
  const catalog = createCatalogSync({ db, clock: systemClock, logger, reader, schemas, workspaceId });

  const verdicts = new Map<string, Verdict>();
  let asked = 0;
  let hook: (asked: number) => Promise<unknown> = async () => {};
  const newestVerdict: NewestVerdict = async (...key) => {
    asked += 1;
    const verdict = verdicts.get(key.join());
    await hook(asked);
    return verdict;
  };

  async function startProcess(own: Database) {
    const agents = createAgents({ db: own, schemas, knownSlugs: async () => new Set() });
    const promotion = createPromotion({ db: own, clock: systemClock, agents, newestVerdict });
    const { authenticate, auditRow } = access;
    const api = await startApi(promotionEndpoints(promotion), { db: own, authenticate, auditRow });
    onTestFinished(api.stop);
    return api;
  }
  const second = openDatabase(config);
  onTestFinished(() => second.close());
  const processes = [await startProcess(db), await startProcess(second)];

  const call: PromotionService["call"] = async (method, path, { process = 0, ...options } = {}) => {
    const api = processes[process];
    if (!api) throw new Error(`There is no process ${process}.`);
    return api.call(method, path, { key: adminKey, ...options });
  };
  const files = new Map<string, TestFile>();
  return {
    ...{ db, workspaceId, addMember, call },
    async commit(changes) {
      for (const [path, file] of Object.entries(changes)) {
        if (file === null) files.delete(path);
        else files.set(path, file);
      }
      const sha = await repository.commit(Object.fromEntries(files));
      await catalog.sync();
      return sha;
    },
    async loseRepository() {
      await repository.remove();
      await catalog.sync();
    },
    judge(agent, spec, evals, verdict) {
      verdicts.set([workspaceId, agent, sha256(spec), sha256(evals)].join(), verdict);
    },
    beforeVerdict(next) {
      hook = next;
    },
    promote: (agent, version, options) =>
      call("POST", `/agents/${agent}/promote`, { body: { version }, ...options }),
    async audited() {
      const rows = await db.read("audit_log").where({ action: "promoteAgent" }).orderBy("id");
      return rows.map((row) => JSON.parse(row.details));
    },
  };
}

/** Text of a spec; `words` tell it from others. */
export const spec = (name: string, words = "Answer briefly.") =>
  `name: ${name}\nframework: ai-sdk\nmodel: offline/echo\ninstructions: ${words}\n`;

/** Text of an eval file whose one case wants `word`. */
export const evals = (word: string) =>
  `cases:\n  - name: one\n    input: ${word}\n    assert: {contains: ${word}}\n`;
