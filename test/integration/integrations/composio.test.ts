import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createIntegrations, IntegrationFailure } from "../../../src/integrations/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import {
  type ComposioSimulator,
  maskedToken,
  startComposioSimulator,
} from "../../support/composio-simulator.ts";

let composio: ComposioSimulator;

beforeEach(async () => {
  composio = await startComposioSimulator();
  return () => composio.close();
});

function connect({ apiKey = composio.apiKey, read = 5_000, url = composio.url } = {}) {
  const redactor = createRedactor();
  redactor.register(apiKey);
  const timeouts = { read, write: read, execute: read };
  const { composio: provider } = createIntegrations({
    clock: systemClock,
    redactor,
    composioUrl: url,
    timeouts,
  });
  return provider.connect(apiKey);
}

const failureOf = async (promise: Promise<unknown>): Promise<IntegrationFailure> => {
  const error = await promise.then(
    () => new Error("It did not fail."),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(IntegrationFailure);
  return error as IntegrationFailure;
};

const tool = (slug: string, toolkit = "github") => ({ slug, toolkit });
const account = (id: string, status: string, userId = "u_1") => ({ id, toolkit: "github", userId, status });

describe("tools", () => {
  test("are listed over all pages, those of one toolkit", async () => {
    composio.tools = ["A", "B", "C", "D", "E"].map((name) => tool(`GITHUB_${name}`));
    composio.tools.push(tool("GITHUB_ENTERPRISE_X", "github_enterprise"), {
      ...tool("NOT_a_slug"),
      noAuth: true,
    });
    const tools = await connect().tools("github");
    expect(tools.map(({ slug }) => slug)).toEqual(["A", "B", "C", "D", "E"].map((name) => `GITHUB_${name}`));
    expect(tools[0]).toEqual({
      slug: "GITHUB_A",
      toolkit: "github",
      name: "github a",
      description: "",
      inputSchema: { type: "object", properties: {} },
      needsAccount: true,
      version: "20260901_00",
    });
    const [first] = composio.called(/^GET \/tools$/);
    expect(Object.fromEntries(first?.query ?? [])).toEqual({
      toolkit_slug: "github",
      include_deprecated: "false",
      limit: "500",
    });
  });

  test("belong to the toolkits that have an auth config", async () => {
    composio.toolkits = new Set(["slack", "github", "gmail"]);
    expect(await connect().toolkits()).toEqual(["github", "gmail", "slack"]);
  });

  test("are executed as the user, in the version whose arguments the model was shown", async () => {
    composio.tools = [tool("GITHUB_A")];
    composio.accounts = [account("ca_1", "ACTIVE")];
    const call = { slug: "GITHUB_A", userId: "u_1", args: { n: 1 }, version: "20260901_00" };
    expect(await connect().execute(call)).toEqual({ ok: true, data: { echoed: { n: 1 } } });
    const [sent] = composio.called(/^POST \/tools\/execute\/GITHUB_A$/);
    expect(sent?.body).toEqual({ user_id: "u_1", arguments: { n: 1 }, version: "20260901_00" });
  });

  test.each([
    [{ data: { status_code: 404, message: "No such repository" } }, "No such repository", 404],
    [{ data: {}, error: "It\nbroke" }, "It broke", undefined],
    [{ data: null, error: { deep: true } }, "The tool failed without saying why.", undefined],
  ])("that fail answer 200, too: %j", async (answer, message, status) => {
    composio.tools = [{ ...tool("GITHUB_A"), noAuth: true, run: () => ({ successful: false, ...answer }) }];
    const result = await connect().execute({ slug: "GITHUB_A", userId: "u_1", args: {} });
    expect(result).toEqual({ ok: false, message, status });
  });
});

describe("accounts", () => {
  test.each([
    ["INITIALIZING", "pending"],
    ["INITIATED", "pending"],
    ["ACTIVE", "active"],
    ["FAILED", "failed"],
    ["EXPIRED", "expired"],
    ["INACTIVE", "revoked"],
    ["REVOKED", "revoked"],
    ["SOMETHING_NEW", "failed"],
  ])("%s is %s, and what secrets there are stay behind", async (providerStatus, status) => {
    composio.accounts = [account("ca_1", providerStatus), account("ca_2", providerStatus, "u_2")];
    const accounts = await connect().accounts("u_1");
    expect(accounts).toEqual([{ id: "ca_1", toolkit: "github", status, providerStatus }]);
    expect(JSON.stringify(accounts)).not.toContain(maskedToken.slice(0, 4));
  });

  test("that are switched off cannot be used", async () => {
    composio.accounts = [{ ...account("ca_1", "ACTIVE"), isDisabled: true }];
    expect(await connect().accounts("u_1")).toMatchObject([{ status: "revoked", providerStatus: "ACTIVE" }]);
  });

  test("are found by their id, with whose they are", async () => {
    composio.accounts = [account("ca_1", "ACTIVE", "u_9")];
    expect(await connect().account("ca_1")).toMatchObject({ id: "ca_1", userId: "u_9", status: "active" });
    expect(await connect().account("ca_2")).toBeUndefined();
  });

  test("are linked over the toolkit's auth config", async () => {
    composio.toolkits = new Set(["gmail", "github"]);
    const link = await connect().link({ toolkit: "github", userId: "u_1" });
    expect(link.url).toMatch(/^https:\/\/connect\.composio\.test\/link\/lk_/);
    expect(link.expiresAt).toBeGreaterThan(Date.now());
    expect(composio.called(/link$/)[0]?.body).toEqual({ auth_config_id: "ac_github", user_id: "u_1" });
    expect(await connect().accounts("u_1")).toMatchObject([{ id: link.accountId, status: "pending" }]);
    expect((await failureOf(connect().link({ toolkit: "slack", userId: "u_1" }))).kind).toBe("not_found");
  });
});

describe("triggers", () => {
  const config = { type: "object", properties: { repo: { type: "string" } }, required: ["repo"] };
  const wanted = {
    slug: "GITHUB_COMMIT_EVENT",
    accountId: "ca_1",
    config: { repo: "a/b", deep: { x: 1, y: 2 } },
  };

  test("have types with a schema", async () => {
    composio.triggerTypes = ["A", "B", "C"].map((name) => ({
      slug: `GITHUB_${name}`,
      toolkit: "github",
      config,
    }));
    composio.triggerTypes.push({ slug: "GMAIL_NEW", toolkit: "gmail", config: {} });
    expect((await connect().triggerTypes("github")).map(({ slug }) => slug)).toEqual([
      "GITHUB_A",
      "GITHUB_B",
      "GITHUB_C",
    ]);
    expect(await connect().triggerTypes(undefined)).toHaveLength(4);
    expect(await connect().triggerType("GITHUB_B")).toMatchObject({
      toolkit: "github",
      config,
      delivery: "webhook",
    });
    expect((await failureOf(connect().triggerType("NO_SUCH"))).kind).toBe("not_found");
  });

  test("are subscribed, disabled, taken up again and deleted", async () => {
    const client = connect();
    const id = await client.subscribe(wanted);
    expect(await client.triggers({ ids: [id] })).toMatchObject([
      { id, slug: "GITHUB_COMMIT_EVENT", accountId: "ca_1", config: wanted.config, enabled: true },
    ]);
    await client.setTriggerEnabled(id, false);
    expect(await client.triggers({ accountIds: ["ca_1"] })).toMatchObject([{ enabled: false }]);
    await client.setTriggerEnabled(id, true);
    expect(await client.triggers({ ids: [id] })).toMatchObject([{ enabled: true }]);
    await client.setTriggerEnabled(id, false);
    expect(await client.subscribe(wanted)).toBe(id);
    await client.deleteTrigger(id);
    await client.deleteTrigger(id);
    expect(await client.triggers({ ids: [id] })).toEqual([]);
    expect((await failureOf(client.setTriggerEnabled(id, true))).kind).toBe("not_found");
  });

  test("are found when the answer says nothing", async () => {
    const client = connect();
    await client.subscribe({ ...wanted, config: { repo: "c/d" } });
    composio.silentUpsert = true;
    const id = await client.subscribe(wanted);
    expect(composio.triggers.find((trigger) => trigger.id === id)?.config).toEqual(wanted.config);
  });
});

describe("the webhook of the project", () => {
  const url = "https://rollcall.example/api/hooks/integration/default";

  test("is made, left as it is, and completed", async () => {
    const client = connect();
    expect(await client.ensureWebhook(url)).toMatchObject({ state: "created", secret: composio.secret });
    expect(composio.subscriptions).toMatchObject([
      {
        webhook_url: url,
        version: "V3",
        enabled_events: [
          "composio.trigger.message",
          "composio.trigger.disabled",
          "composio.connected_account.expired",
        ],
      },
    ]);
    expect(await client.ensureWebhook(url)).toMatchObject({ state: "unchanged" });
    Object.assign(composio.subscriptions[0] ?? {}, { version: "V2", enabled_events: ["composio.other"] });
    expect(await client.ensureWebhook(url)).toMatchObject({ state: "updated" });
    expect(composio.subscriptions).toMatchObject([{ webhook_url: url, version: "V3" }]);
    expect(composio.subscriptions[0]?.enabled_events).toContain("composio.other");
  });

  test("is left alone when it is somebody else's", async () => {
    const foreign = { id: "wh_1", webhook_url: "https://other.example/hook/token123", enabled_events: [] };
    composio.subscriptions = [foreign];
    const failure = await failureOf(connect().ensureWebhook(url));
    expect(failure.kind).toBe("refused");
    expect(failure.message).toContain("other.example");
    expect(failure.message).not.toContain("token123");
    expect(composio.called(/^(POST|PATCH)/)).toEqual([]);
  });
});

describe("what goes wrong", () => {
  test("a key that is not accepted, which is not repeated", async () => {
    const apiKey = "ak_wrong_canary_key";
    const failure = await failureOf(connect({ apiKey }).toolkits());
    expect(failure.kind).toBe("unauthorised");
    expect(failure.message).not.toContain(apiKey);
  });

  test("a rate limit is waited for once when it is short, by reads alone", async () => {
    const client = connect();
    composio.fail(/auth_configs/, { status: 429, retryAfter: "0" });
    expect(await client.toolkits()).toEqual([]);
    composio.fail(/auth_configs/, { status: 429, retryAfter: "0" }, 2);
    expect((await failureOf(client.toolkits())).kind).toBe("rate_limited");
    composio.tools = [{ ...tool("GITHUB_A"), noAuth: true }];
    composio.fail(/execute/, { status: 429, retryAfter: "0" });
    const call = { slug: "GITHUB_A", userId: "u_1", args: {} };
    expect((await failureOf(client.execute(call))).kind).toBe("rate_limited");
    expect(composio.called(/execute/)).toHaveLength(1);
  });

  test("a long rate limit says until when", async () => {
    const before = Date.now();
    composio.fail(/auth_configs/, { status: 429, retryAfter: "120" });
    const failure = await failureOf(connect().toolkits());
    expect(failure.kind).toBe("rate_limited");
    expect(failure.retryAt).toBeGreaterThanOrEqual(before + 120_000);
    expect(composio.calls).toHaveLength(1);
    composio.fail(/auth_configs/, { status: 429, retryAfter: new Date(before + 90_000).toUTCString() });
    expect((await failureOf(connect().toolkits())).retryAt).toBeGreaterThan(before + 80_000);
  });

  test("a refusal in the provider's words, without our key", async () => {
    const message = `Key ${composio.apiKey} may\nnot do that`;
    composio.fail(/auth_configs/, { status: 400, message });
    const failure = await failureOf(connect().toolkits());
    expect(failure.kind).toBe("refused");
    expect(failure.message).toContain("may not do that");
    expect(failure.message).not.toContain(composio.apiKey);
  });

  test.each(["garbage" as const, "cut" as const, "redirect" as const, { status: 500 }, { status: 503 }])(
    "%j is the provider being unavailable",
    async (fault) => {
      composio.fail(/auth_configs/, fault);
      expect((await failureOf(connect().toolkits())).kind).toBe("unavailable");
      expect(composio.calls).toHaveLength(1);
    },
  );

  test("a provider that does not answer, and one that is not there", async () => {
    composio.fail(/auth_configs/, "stall");
    const failure = await failureOf(connect({ read: 50 }).toolkits());
    expect(failure).toMatchObject({ kind: "unavailable", message: expect.stringContaining("in time") });
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const gone = connect({ url: `http://127.0.0.1:${port}` });
    expect((await failureOf(gone.toolkits())).kind).toBe("unavailable");
  });

  test("whoever asked is gone: the reason is theirs", async () => {
    composio.fail(/auth_configs/, "stall");
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const asked = connect().toolkits(controller.signal);
    const reason = new Error("cancelled");
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});
