import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { forgetOldDeliveries } from "../../../src/deliveries/index.ts";
import { databases } from "../../support/databases.ts";
import { deliver, startGitHubService, workedOff } from "../../support/github-deliveries.ts";
import { examplePayload, pushPayload } from "../../support/github-payloads.ts";

const files = {
  "agents/ai-sdk/one.yaml": "name: one\nframework: ai-sdk\nmodel: offline/echo\ninstructions: A.\n",
};
const day = 86_400_000;

describe.each(databases())("deliveries on %s", (engine) => {
  const start = () => startGitHubService(files, { engine });

  it("are kept once each, however many come at once, and large ones too", async () => {
    const { app } = await start();
    const same = randomUUID();
    const large = Array.from({ length: 3 }, () => randomUUID());
    const ping = examplePayload("ping");
    const bytes = JSON.stringify({ ...ping, zen: randomBytes(5 * 1024 * 1024).toString("base64") });
    const answers = await Promise.all([
      ...Array.from({ length: 50 }, () => deliver(app, { event: "ping", id: same, payload: ping })),
      ...Array.from({ length: 50 }, () => deliver(app, { event: "ping", payload: ping })),
      // Together they are larger than one statement may be.
      ...large.map((id) => deliver(app, { event: "ping", id, bytes })),
    ]);
    expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
    expect(await app.db.read("deliveries").pluck("external_id")).toHaveLength(54);
    for (const id of [same, ...large]) {
      expect(await workedOff(app, id)).toMatchObject({ state: "ignored", attempts: 1 });
    }
  });

  it("are listed page by page, newest first, with what became of them", async () => {
    const { app, send } = await start();
    const sent = [];
    for (const event of ["ping", "star", "push"]) {
      sent.push(await send({ event, payload: event === "push" ? pushPayload() : { action: "created" } }));
    }
    const read = async (query: string) => (await app.request("GET", `/deliveries${query}`)).json;
    expect((await read("")).deliveries).toEqual(sent.toReversed());
    expect(sent.map(({ event, action, state }) => [event, action, state])).toEqual([
      ["ping", "created", "ignored"],
      ["star", "created", "ignored"],
      ["push", null, "done"],
    ]);
    const page = await read("?limit=2");
    expect(page.nextBefore).toBe(sent[1].id);
    expect(await read(`?limit=2&before=${page.nextBefore}`)).toEqual({
      deliveries: [sent[0]],
      nextBefore: null,
    });
  });

  it("are worked off again on request; one that is unknown is 404", async () => {
    const { app, send } = await start();
    const { id, deliveryId } = await send({ event: "ping", payload: examplePayload("ping") });
    expect((await app.request("POST", `/deliveries/${id}/replay`)).json).toEqual({ id });
    await expect.poll(async () => (await workedOff(app, deliveryId)).attempts).toBe(2);
    expect((await app.request("POST", "/deliveries/dlv_nobody/replay")).status).toBe(404);
    const log = (await app.request("GET", "/audit-log?action=replayDelivery")).json.entries;
    expect(log).toMatchObject([{ target: id }]);
  });

  it("that cannot be read fail at once and stay", async () => {
    const { app, send } = await start();
    expect(await send({ event: "push", payload: { ref: "refs/heads/main" } })).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("before"),
      attempts: 1,
    });
    expect((await app.request("GET", "/jobs")).json.jobs).toEqual([]);
  });

  it("are tried again while the repository cannot be read, then fail, and can be replayed", async () => {
    const { app, github, repository } = await start();
    const after = await repository.commit({});
    const id = randomUUID();
    github.setAccess(false);
    await deliver(app, { id, payload: pushPayload({ after }) });
    const jobs = () => app.db.writer("jobs").where({ kind: "github.delivery" });
    const row = async () => app.db.read("deliveries").where({ external_id: id }).first();
    for (let tries = 1; tries <= 6; tries++) {
      await expect.poll(async () => (await row()).attempts, { timeout: 10_000 }).toBe(tries);
      // Each wait is cut short: only that there is one matters here.
      await expect
        .poll(async () => (await jobs().update({ run_at: 0 }).where({ state: "queued" })) || tries === 6)
        .toBeTruthy();
    }
    const failed = await workedOff(app, id);
    expect(failed).toMatchObject({ state: "failed", reason: expect.stringContaining("install the App") });
    expect((await app.request("GET", "/agents")).json.catalog.stale).toBe(true);
    expect((await app.request("GET", "/jobs")).json.jobs).toEqual([]);
    github.setAccess(true);
    await app.request("POST", `/deliveries/${failed.id}/replay`);
    expect(await workedOff(app, id)).toMatchObject({ state: "done", attempts: 7 });
    expect((await app.request("GET", "/agents")).json.catalog).toMatchObject({
      commitSha: after,
      stale: false,
    });
  });

  it("are removed after 30 days", async () => {
    const { app, send } = await start();
    await send({ event: "ping", payload: examplePayload("ping") });
    const forget = (days: number) =>
      app.db.transaction((tx) => forgetOldDeliveries(tx, Date.now() + days * day));
    expect(await forget(29)).toBe(0);
    expect(await forget(31)).toBe(1);
    expect((await app.request("GET", "/deliveries")).json.deliveries).toEqual([]);
  });
});
