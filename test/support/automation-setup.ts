import { onTestFinished } from "vitest";
import { automationEndpoints } from "../../src/automations/index.ts";
import type { Connections } from "../../src/connections/index.ts";
import { dispatchEndpoints } from "../../src/dispatches/index.ts";
import { toInstant } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/index.ts";
import type { Role } from "../../src/platform/http/index.ts";
import { RepositoryUnavailable } from "../../src/repositories/index.ts";
import { runEndpoints } from "../../src/runs/index.ts";
import { type CallOptions, startApi } from "./api.ts";
import { assembleAutomations } from "./assemble-automations.ts";
import { createTestSync } from "./catalog.ts";
import { createTestRepository, type TestFile } from "./git-repository.ts";
import { agentFiles } from "./run-requests.ts";
import { setUpWorkspace } from "./workspace.ts";

export interface AutomationSetup {
  /** Where the clock stands at first, RFC 3339. */
  now: string;
  files?: Readonly<Record<string, TestFile>>;
  /** What members lack; every slug unless given. */
  missing?: Connections["missing"];
}

/** What a test asks for to have an automation. */
export interface Wanted {
  agent?: string;
  schedule?: string;
  [field: string]: unknown;
}

/**
 * Automations and what they stand on, on a real database, with a clock that the test sets: nothing is due but when
 * `fireAt` says so. For the running test alone.
 */
export async function setUpAutomations(db: Database, setup: AutomationSetup) {
  const time = { now: Date.parse(setup.now) };
  const clock = () => time.now;
  const workspace = await setUpWorkspace(db, clock);
  const { workspaceId, access, redactor, logger } = workspace;
  const repository = await createTestRepository();
  onTestFinished(repository.remove);
  await repository.commit(setup.files ?? agentFiles({ echo: {} }));
  const reading = { away: false };
  const sync = createTestSync(db, repository, workspaceId, (reader) => ({
    head: async () => {
      if (reading.away) throw new RepositoryUnavailable("The repository is away for a test.", "unreachable");
      return reader.head();
    },
  }));
  await sync.sync();

  const asked: number[] = [];
  const ensure = (instants: readonly number[]) => void asked.push(...instants);
  const assembly = { clock, logger, redactor, access, missing: setup.missing, ensure };
  const { automations, ownership, dispatches, runs } = assembleAutomations(db, assembly);
  const api = await startApi(
    [...automationEndpoints(automations), ...dispatchEndpoints(dispatches), ...runEndpoints(runs)],
    { db, clock, ...access },
  );
  onTestFinished(api.stop);

  const call = (method: string, path: string, options: CallOptions = {}) =>
    api.call(method, path, { key: workspace.adminKey, ...options });
  return {
    ...workspace,
    db,
    time,
    automations,
    ownership,
    /** Automations as another process has them, maybe by way of a database that fails. */
    another: (database = db) => assembleAutomations(database, assembly).automations,
    dispatches,
    call,
    /** Instants that a wake-up was asked for at. */
    asked,
    repository,
    /** Reads the repository, which cannot be read when `away`. */
    async readRepository({ away }: { away: boolean }) {
      reading.away = away;
      await sync.sync();
    },
    /** Creates an automation of `echo`, every hour unless said otherwise, and answers it. Throws when refused. */
    async create(wanted: Wanted = {}, options: CallOptions = {}) {
      const body = { agent: "echo", schedule: "0 * * * *", ...wanted };
      const answer = await call("POST", "/automations", { ...options, body });
      if (answer.status !== 201)
        throw new Error(`Refused with ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body.automation;
    },
    /** Sets the clock and sweeps. */
    async fireAt(instant: string) {
      time.now = Date.parse(instant);
      await automations.fireDue(time.now);
    },
    async find(id: string) {
      return (await call("GET", `/automations/${id}`)).body.automation;
    },
    /** The ledger of an automation, latest first, as the API shows it. */
    async fires(id: string) {
      return (await call("GET", `/automations/${id}/fires`)).body.fires;
    },
    /** Runs of an automation in the order in which they were made. */
    runsOf: (id: string) => db.read("runs").where({ automation_id: id }).orderBy("id"),
    /** Ends runs that are queued, as their worker would. */
    async endRuns() {
      await db.transaction((tx) =>
        tx("runs").where({ status: "queued" }).update({ status: "succeeded", finished_at: time.now }),
      );
    },
    async openDispatches() {
      return (await call("GET", "/dispatches")).body.dispatches;
    },
    async promote(agent: string) {
      const [draft] = await db.read("agents").where({ name: agent });
      const version = { workspace_id: workspaceId, agent, number: 1, framework: "ai-sdk", stable: 1 };
      const { spec_sha, commit_sha } = draft;
      await db.transaction((tx) =>
        tx("agent_versions").insert({
          ...version,
          spec_sha,
          commit_sha,
          promoted_by: "admin",
          created_at: 1,
        }),
      );
    },
    setRole: (login: string, role: Role) =>
      db.transaction((tx) => access.members.changeRole(tx, { workspaceId, login, role })),
    removeMember: (login: string) => db.transaction((tx) => access.members.remove(tx, workspaceId, login)),
    at: toInstant,
  };
}

export type TestAutomations = Awaited<ReturnType<typeof setUpAutomations>>;
