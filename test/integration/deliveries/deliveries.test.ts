import { describe, expect, it } from "vitest";
import {
  type DeliveryRow,
  deliveryPrefix,
  deliveryRow,
  encodePayload,
  failDelivery,
  forgetOldDeliveries,
  readPayload,
  reopenDelivery,
  sameDelivery,
  settleDelivery,
} from "../../../src/deliveries/index.ts";
import { isUniqueViolation } from "../../../src/platform/db/index.ts";
import { createIds, idFloor } from "../../../src/platform/ids.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { agentFiles, endedRun } from "../../support/run-requests.ts";
import { call, makeWebhook, serveDeliveries, webhooksBeside } from "../../support/webhook-calls.ts";

const ids = createIds();
const secretKey = "a sealing key that only these tests use";
const connections = ["ROLLCALL_CURRENT_TIME", "ROLLCALL_READ_FILE"];

function delivery(
  { workspaceId }: Pick<TestApp, "workspaceId">,
  changed: Partial<DeliveryRow> = {},
): DeliveryRow {
  const id = ids(deliveryPrefix);
  return {
    ...{ id, workspace_id: workspaceId, source: "github", external_id: id, sender_id: null, ref: null },
    ...{ event: "push", action: null, state: "received", reason: null, attempts: 0, run_id: null },
    received_at: Date.now(),
    ...changed,
  };
}

async function add(app: TestApp, changed: Partial<DeliveryRow> = {}, bytes = Buffer.from("{}")) {
  const row = delivery(app, changed);
  await app.db.commit({ rows: [deliveryRow(row, await encodePayload(bytes))] });
  return row;
}

describe.each(databases())("deliveries on %s", (engine) => {
  it("are listed by source and state, newest first, for workspace admins", async () => {
    const app = await startApp({ engine, files: {} });
    const side = await serveDeliveries(app, {});
    const push = await add(app);
    const failed = await add(app, {
      source: "webhook",
      state: "failed",
      reason: "No agent.",
      sender_id: "key-1",
      ref: "whk_1",
    });
    const done = await add(app, { source: "webhook", state: "done", run_id: "run_1", attempts: 2 });
    const list = async (query = "") => (await side.request("GET", `/deliveries${query}`)).json;
    const idsOf = async (query: string) => (await list(query)).deliveries.map(({ id }: { id: string }) => id);
    expect((await list()).deliveries).toEqual([
      expect.objectContaining({
        id: done.id,
        deliveryId: done.id,
        runId: "run_1",
        attempts: 2,
        state: "done",
      }),
      expect.objectContaining({ id: failed.id, deliveryId: "key-1", ref: "whk_1", reason: "No agent." }),
      {
        ...{ id: push.id, source: "github", deliveryId: push.external_id, event: "push", action: null },
        ...{ receivedAt: new Date(push.received_at).toISOString(), state: "received", attempts: 0 },
      },
    ]);
    expect(await idsOf("?source=webhook")).toEqual([done.id, failed.id]);
    expect(await idsOf("?state=received")).toEqual([push.id]);
    expect(await idsOf("?source=webhook&state=failed")).toEqual([failed.id]);
    expect(await idsOf("?source=webhook&state=done")).toEqual([done.id]);
    expect(await idsOf("?source=chat")).toEqual([]);
    expect(await idsOf(`?before=${done.id}&limit=1`)).toEqual([failed.id]);
    expect((await list("?limit=1")).nextBefore).toBe(done.id);
    expect((await side.request("GET", "/deliveries?source=mail")).status).toBe(400);
    const key = await app.member("olga", "operator");
    expect((await side.request("GET", "/deliveries", { key })).status).toBe(403);
  });

  it("keep small and large payloads byte for byte, and one row for each name that a source gives", async () => {
    const app = await startApp({ engine, files: {} });
    for (const bytes of [Buffer.alloc(0), Buffer.from([0, 255, 10]), Buffer.alloc(300_000, "abc\0")]) {
      const { id } = await add(app, {}, bytes);
      expect((await readPayload(app.db.read, id))?.equals(bytes)).toBe(true);
    }
    const sizes = (await app.db.read("deliveries").orderBy("id").pluck("payload")).map(
      ({ length }) => length,
    );
    expect(sizes.slice(0, 2)).toEqual([0, 3]);
    expect(sizes[2]).toBeLessThan(10_000);
    await add(app, { external_id: "same" });
    await add(app, { external_id: "same", source: "integration" });
    const again = await add(app, { external_id: "same" }).catch((error: unknown) => error);
    expect(isUniqueViolation(again, sameDelivery)).toBe(true);
  });

  it("are settled, given up, opened again and forgotten after thirty days", async () => {
    const app = await startApp({ engine, files: {} });
    const { id } = await add(app);
    const state = () =>
      app.db.read("deliveries").where({ id }).first("state", "reason", "attempts", "run_id");
    await app.db.transaction((tx) => settleDelivery(tx, id, { state: "done", run_id: "run_1" }));
    expect(await state()).toEqual({ state: "done", reason: null, attempts: 1, run_id: "run_1" });
    await app.db.transaction((tx) => failDelivery(tx, id, "lost"));
    expect(await state()).toMatchObject({ state: "failed", reason: "lost", attempts: 1 });
    await app.db.transaction((tx) => reopenDelivery(tx, id));
    expect(await state()).toMatchObject({ state: "received", reason: null });
    const days = 24 * 60 * 60 * 1000;
    const old = await add(app, { id: idFloor(deliveryPrefix, Date.now() - 31 * days) });
    expect(await app.db.transaction((tx) => forgetOldDeliveries(tx, Date.now()))).toBe(1);
    expect(await app.db.read("deliveries").pluck("id")).toEqual([id]);
    expect(old.id < id).toBe(true);
  });

  it("are replayed by their source, unless they still wait or nobody can", async () => {
    const app = await startApp({ engine, files: {} });
    const seen: string[] = [];
    const side = await serveDeliveries(app, {
      async github(tx, { id }) {
        seen.push(id);
        await reopenDelivery(tx, id);
      },
      async chat() {
        throw new Error("no");
      },
    });
    const replay = async (id: string) => (await side.request("POST", `/deliveries/${id}/replay`)).status;
    const { id } = await add(app, { state: "done" });
    expect([await replay(id), await replay(id)]).toEqual([202, 202]);
    expect(seen).toEqual([id]);
    expect(await replay("dlv_none")).toBe(404);
    expect(await replay((await add(app, { source: "integration", state: "failed" })).id)).toBe(409);
  });

  it("of a webhook make another run of the same message with the same tools", async () => {
    const app = await startApp({ engine, files: agentFiles({ echo: { connections } }) });
    const side = await serveDeliveries(app, { webhook: webhooksBeside(app, secretKey).replayer });
    const webhook = await makeWebhook(app, "echo", { tools: ["ROLLCALL_READ_FILE"] });
    const { json } = await call(app, webhook, { raw: '{"n": 1.0}' });
    const patch = (body: unknown) => app.request("PATCH", `/webhooks/${webhook.id}`, { body });
    await patch({ name: "renamed", tools: null });
    const replay = async () => (await side.request("POST", `/deliveries/${json.delivery_id}/replay`)).status;
    const delivered = () => app.db.read("deliveries").where({ id: json.delivery_id }).first();

    const first = await endedRun(app, json.run_id);
    for (const attempts of [2, 3]) {
      expect(await replay()).toBe(202);
      const { run_id, ...rest } = await delivered();
      expect(rest).toMatchObject({ state: "done", attempts });
      const run = await endedRun(app, run_id);
      expect(run.id).not.toBe(first.id);
      expect(run).toMatchObject({ status: "succeeded", message: first.message, webhookId: webhook.id });
      const row = await app.db.read("runs").where({ id: run_id }).first();
      expect(row.tools_allowed).toBe('["ROLLCALL_READ_FILE"]');
    }
    await app.commit({ "agents/ai-sdk/echo.json": null });
    expect(await replay()).toBe(202);
    expect(await delivered()).toMatchObject({ state: "failed", reason: expect.stringContaining("echo") });

    await patch({ enabled: false });
    expect(await replay()).toBe(409);
    await app.request("DELETE", `/webhooks/${webhook.id}`);
    expect(await replay()).toBe(409);
    expect(await app.db.read("runs").count({ n: "*" })).toEqual([{ n: 4 }]);
  });
});
