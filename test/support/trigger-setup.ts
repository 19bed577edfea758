import { onTestFinished } from "vitest";
import { providerUserId } from "../../src/connections/index.ts";
import { deliveryEndpoints } from "../../src/deliveries/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createJobQueue } from "../../src/platform/jobs/index.ts";
import { triggerReplayer } from "../../src/triggers/replay.ts";
import { startApi, type TestApi } from "./api.ts";
import { type Answer, startApp, type TestApp } from "./app.ts";
import type { ComposioDelivery } from "./composio-deliveries.ts";
import {
  type ComposioSimulator,
  type SimulatedTrigger,
  startComposioSimulator,
} from "./composio-simulator.ts";
import type { Engine } from "./databases.ts";
import { agentFiles } from "./run-requests.ts";

export interface TriggerSetup {
  app: TestApp;
  composio: ComposioSimulator;
  /** Address that the provider sends events to. */
  hookUrl: string;
  /** Adds an account of a member (`admin` unless given) and returns its id. */
  addAccount(toolkit: string, status?: string, login?: string): string;
  /** Asks for a trigger of the agent `echo`. */
  create(body: Record<string, unknown>, setup?: { key?: string }): Promise<Answer>;
  /** The subscription that the provider has for an account. */
  subscriptionOf(accountId: string): SimulatedTrigger;
  /** Posts a signed event of the subscription, V3 unless another version is given. */
  deliver(
    trigger: SimulatedTrigger,
    change?: Partial<Omit<ComposioDelivery, "event">> & { data?: Record<string, unknown> },
  ): Promise<Response>;
  /** The delivery once it was worked off. */
  // biome-ignore lint/suspicious/noExplicitAny: a row as it is
  worked(senderId: string): Promise<any>;
  /** Runs of triggers, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: rows as they are
  runs(): Promise<any[]>;
}

export const commitEvent = "GITHUB_COMMIT_EVENT";

const commitConfig = {
  type: "object",
  title: "Config",
  properties: {
    owner: { type: "string", description: "Owner" },
    repo: { type: "string", pattern: "^[a-z-]+$" },
    branch: { type: "string", default: "main" },
  },
  required: ["owner", "repo"],
};

/** A config that fits `commitEvent`. */
export const commits = { owner: "acme", repo: "shop" };

/** The service with Composio to talk to, for the running test alone; `configured` (the default) with its key and secret. */
export async function startWithTriggers({
  engine = "sqlite",
  configured = true,
  env = {},
}: {
  engine?: Engine;
  configured?: boolean;
  env?: Record<string, string>;
} = {}): Promise<TriggerSetup> {
  const composio = await startComposioSimulator();
  onTestFinished(() => composio.close());
  composio.toolkits.add("github").add("mail");
  composio.triggerTypes.push(
    { slug: commitEvent, toolkit: "github", config: commitConfig },
    { slug: "GITHUB_STAR_EVENT", toolkit: "github", config: { type: "object", properties: {} } },
    { slug: "MAIL_NEW_MESSAGE", toolkit: "mail", config: { type: "object", properties: {} } },
  );
  composio.tools.push({ slug: "GITHUB_CREATE_ISSUE", toolkit: "github" });
  const app = await startApp({
    engine,
    files: agentFiles({
      echo: {},
      helper: { connections: ["GITHUB_CREATE_ISSUE", "ROLLCALL_CURRENT_TIME"] },
    }),
    env: { COMPOSIO_BASE_URL: composio.url, ...env },
  });
  if (configured) {
    const integration = { apiKey: composio.apiKey, webhookSecret: composio.secret };
    const { status, text } = await app.request("PATCH", "/settings", { body: { integration } });
    if (status !== 200) throw new Error(`The settings were refused: ${text}`);
  }
  const hookUrl = `${app.url}/api/hooks/integration/default`;
  const userOf = (accountId: string) => composio.accounts.find(({ id }) => id === accountId)?.userId ?? "";
  return {
    app,
    composio,
    hookUrl,
    addAccount(toolkit, status = "ACTIVE", login = "admin") {
      const id = `ca_${composio.accounts.length + 1}`;
      const userId = providerUserId({ workspaceId: app.workspaceId, login });
      composio.accounts.push({ id, toolkit, userId, status });
      return id;
    },
    create: (body, setup) => app.request("POST", "/agents/echo/triggers", { body, ...setup }),
    subscriptionOf(accountId) {
      const found = composio.triggers.filter((each) => each.accountId === accountId);
      if (found.length !== 1 || !found[0]) throw new Error(`There are ${found.length} subscriptions.`);
      return found[0];
    },
    deliver(trigger, { data = { commit: "abc" }, version = "V3", ...rest } = {}) {
      const event = { trigger, userId: userOf(trigger.accountId), data };
      return composio.deliver(hookUrl, { version, event, ...rest });
    },
    async worked(senderId) {
      const deadline = performance.now() + 15_000;
      for (;;) {
        const row = await app.db.read("deliveries").where({ sender_id: senderId }).first();
        if (row && row.state !== "received") return row;
        if (performance.now() > deadline) throw new Error(`The delivery is ${row?.state}.`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    runs: () => app.db.read("runs").whereNotNull("trigger_id").orderBy("id"),
  };
}

/** The addresses of deliveries, for those of triggers alone, until the test is finished. */
export async function startDeliveries({ db, access }: TestApp): Promise<TestApi> {
  const replayers = { integration: triggerReplayer({ queue: createJobQueue(db, createIds(), Date.now) }) };
  const { authenticate, auditRow } = access;
  const api = await startApi(deliveryEndpoints({ db, replayers }), { db, authenticate, auditRow });
  onTestFinished(api.stop);
  return api;
}

/** What the provider has is what the triggers say: no subscription without a row, and none that is only believed in. */
export async function untold({ app, composio }: Pick<TriggerSetup, "app" | "composio">): Promise<string[]> {
  const rows: { provider_id: string | null; state: string; enabled: number }[] =
    await app.db.read("triggers");
  const known = new Set(rows.map((row) => row.provider_id));
  return [
    ...composio.triggers.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} belongs to nothing`),
    ...rows
      .filter(({ state }) => state === "active")
      .filter((row) => !composio.triggers.some(({ id, disabled }) => id === row.provider_id && !disabled))
      .map((row) => `${row.provider_id} is only believed in`),
  ];
}
