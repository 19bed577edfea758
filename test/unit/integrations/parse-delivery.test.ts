import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDelivery } from "../../../src/integrations/composio/parse-delivery.ts";

const parse = (payload: unknown) => parseDelivery("msg_1", Buffer.from(JSON.stringify(payload)));
const data = { commit: "abc", nested: { user_id: 7 } };

describe("a trigger's event", () => {
  test("of version 3", () => {
    const event = parse({
      id: "msg_other",
      timestamp: "2026-11-21T00:00:00Z",
      type: "composio.trigger.message",
      metadata: {
        log_id: "log",
        trigger_slug: "GITHUB_COMMIT_EVENT",
        trigger_id: "ti_1",
        connected_account_id: "ca_1",
        auth_config_id: "ac_1",
        user_id: "u_1",
      },
      data,
    });
    expect(event).toEqual({
      id: "msg_1",
      kind: "trigger",
      type: "composio.trigger.message",
      triggerId: "ti_1",
      triggerUuid: null,
      triggerSlug: "GITHUB_COMMIT_EVENT",
      accountId: "ca_1",
      userId: "u_1",
      toolkit: null,
      reason: null,
      data,
    });
  });

  test("of version 2, its own fields apart from the sender's", () => {
    const event = parse({
      type: "github_commit_event",
      timestamp: "2026-11-21T00:00:00Z",
      log_id: "log",
      data: {
        ...data,
        connection_id: "uuid",
        connection_nano_id: "ca_1",
        trigger_nano_id: "ti_1",
        trigger_id: "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        user_id: "u_1",
      },
    });
    expect(event).toMatchObject({
      kind: "trigger",
      triggerId: "ti_1",
      triggerUuid: "6f9619ff-8b86-d011-b42d-00c04fc964ff",
      triggerSlug: "GITHUB_COMMIT_EVENT",
      accountId: "ca_1",
      userId: "u_1",
    });
    expect(event.data).toEqual(data);
  });

  test.each([
    ["ti_1", { triggerId: "ti_1", triggerUuid: null }],
    ["6f9619ff", { triggerId: null, triggerUuid: "6f9619ff" }],
  ])("of version 1 with the id %s", (trigger_id, ids) => {
    const payload = { trigger_name: "github_commit_event", connection_id: "ca_1", trigger_id, payload: data };
    expect(parse(payload)).toMatchObject({
      kind: "trigger",
      triggerSlug: "GITHUB_COMMIT_EVENT",
      accountId: "ca_1",
      userId: null,
      data,
      ...ids,
    });
  });
});

describe("what happened to a trigger or an account", () => {
  test("a trigger was disabled", () => {
    const event = parse({
      type: "composio.trigger.disabled",
      metadata: { project_id: "p" },
      data: {
        id: "ti_1",
        connected_account_id: "ca_1",
        trigger_name: "GMAIL_NEW",
        user_id: "u_1",
        trigger_config: { label: "x" },
        disabled_reason: "connection_expired",
      },
    });
    expect(event).toMatchObject({
      kind: "trigger_disabled",
      triggerId: "ti_1",
      triggerSlug: "GMAIL_NEW",
      accountId: "ca_1",
      userId: "u_1",
      reason: "connection_expired",
      data: {},
    });
  });

  test("an account expired, and its state stays behind", () => {
    const event = parse({
      type: "composio.connected_account.expired",
      metadata: { project_id: "p", org_id: "o" },
      data: {
        id: "ca_1",
        user_id: "u_1",
        toolkit: { slug: "gmail" },
        status: "EXPIRED",
        status_reason: "refresh\ntoken was\u202e revoked",
        state: { authScheme: "OAUTH2", val: { access_token: "ya29canary" } },
      },
    });
    expect(event).toMatchObject({
      kind: "account_expired",
      accountId: "ca_1",
      userId: "u_1",
      toolkit: "gmail",
      reason: "refresh token was revoked",
    });
    expect(JSON.stringify(event)).not.toContain("canary");
  });
});

describe("anything else is unknown", () => {
  test.each([
    null,
    [],
    7,
    "text",
    {},
    { type: "composio.connected_account.created", data: {} },
    { type: "github_commit_event", data: {} },
    { trigger_name: "X" },
    { type: 7 },
  ])("%j", (payload) => {
    expect(parse(payload)).toMatchObject({ id: "msg_1", kind: "unknown", triggerId: null, data: {} });
  });

  test("bytes that are no JSON", () => {
    expect(parseDelivery("msg_1", Buffer.from([0xff, 0x7b])).kind).toBe("unknown");
    expect(parseDelivery("msg_1", Buffer.alloc(0)).kind).toBe("unknown");
  });

  test("no payload makes it throw", () => {
    const near = fc.record(
      {
        type: fc.oneof(
          fc.constantFrom("composio.trigger.message", "composio.trigger.disabled", "github_x"),
          fc.constant("composio.connected_account.expired"),
          fc.jsonValue(),
        ),
        metadata: fc.oneof(
          fc.jsonValue(),
          fc.record({ trigger_id: fc.jsonValue(), user_id: fc.jsonValue() }),
        ),
        trigger_name: fc.oneof(fc.string(), fc.jsonValue()),
        trigger_id: fc.oneof(fc.string(), fc.jsonValue()),
        payload: fc.jsonValue(),
        data: fc.oneof(
          fc.jsonValue(),
          fc.record({ trigger_nano_id: fc.jsonValue(), toolkit: fc.jsonValue(), id: fc.jsonValue() }),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(near, (payload) => {
        expect(parse(payload).id).toBe("msg_1");
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(parseDelivery("msg_1", bytes).id).toBe("msg_1");
      }),
    );
  });
});
