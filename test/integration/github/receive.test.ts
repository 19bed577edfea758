import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { readPayload } from "../../../src/deliveries/index.ts";
import { useApp } from "../../support/app.ts";
import { deliver, workedOff } from "../../support/github-deliveries.ts";
import { examplePayload, signatureOf, webhookSecret } from "../../support/github-payloads.ts";
import { rawRequest } from "../../support/raw-request.ts";

const MiB = 1024 * 1024;
// Nothing answers there: what these deliveries mean is of no interest here.
const env = {
  ROLLCALL_REPOSITORY: "acme/agents",
  APP_ID: "1",
  PRIVATE_KEY: "no key",
  GHE_HOST: "127.0.0.1:9",
  GHE_PROTOCOL: "http",
  WEBHOOK_SECRET: webhookSecret,
};

/** A payload of exactly that many bytes; `filler` is one character. */
function payloadOf(bytes: number, filler = "x"): string {
  const [head, tail] = ['{"zen":"', '"}'];
  return head + filler.repeat(bytes - head.length - tail.length) + tail;
}

describe("POST /api/github/webhooks", () => {
  const app = useApp({ env });
  const stored = async () => Number((await app().db.read("deliveries").count({ n: "*" }).first())?.n);
  const ping = examplePayload("ping");

  it("stores what is signed, byte for byte, and answers 202", async () => {
    const id = randomUUID();
    const bytes = `${JSON.stringify({ ...ping, zen: "Ünïcode \u2028 😀", big: 0 }, null, 3).replace('"big": 0', '"big": 12345678901234567890')}\n`;
    const answer = await deliver(app(), { event: "ping", id, bytes });
    expect([answer.status, answer.json]).toEqual([202, { ok: true }]);
    expect(answer.headers.get("x-request-id")).toBeTruthy();
    expect(await workedOff(app(), id)).toMatchObject({
      deliveryId: id,
      event: "ping",
      action: null,
      state: "ignored",
      attempts: 1,
    });
    const row = await app().db.read("deliveries").where({ external_id: id }).first();
    expect((await readPayload(app().db.read, row.id))?.toString()).toBe(bytes);
  });

  it.each<[string, Record<string, string | undefined>, number]>([
    ["no signature", { "x-hub-signature-256": undefined }, 401],
    ["another secret", { "x-hub-signature-256": signatureOf(JSON.stringify(ping), "another") }, 401],
    [
      "Probot's default secret",
      { "x-hub-signature-256": signatureOf(JSON.stringify(ping), "development") },
      401,
    ],
    ["another body's signature", { "x-hub-signature-256": signatureOf("{}") }, 401],
    ["an empty signature", { "x-hub-signature-256": "sha256=" }, 401],
    ["a signature without its name", { "x-hub-signature-256": "0".repeat(64) }, 401],
    [
      "a signature of SHA-1",
      { "x-hub-signature-256": undefined, "x-hub-signature": `sha1=${"0".repeat(40)}` },
      401,
    ],
    ["no event", { "x-github-event": undefined }, 400],
    ["an event that is no name", { "x-github-event": "push;drop" }, 400],
    ["no id", { "x-github-delivery": undefined }, 400],
    ["an id that is none", { "x-github-delivery": "a b" }, 400],
    ["an id of 101 characters", { "x-github-delivery": "a".repeat(101) }, 400],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["no type", { "content-type": undefined }, 415],
    ["a compressed body", { "content-encoding": "gzip" }, 415],
  ])("refuses %s and stores nothing", async (_what, headers, status) => {
    const before = await stored();
    const answer = await deliver(app(), { event: "ping", payload: ping, headers });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error: expect.stringMatching(/\.$/) });
    expect(await stored()).toBe(before);
  });

  it("answers alike whatever is wrong with the signature", async () => {
    const answers = await Promise.all(
      [undefined, "sha256=", `sha256=${"0".repeat(64)}`, signatureOf("{}")].map((signature) =>
        deliver(app(), { payload: ping, headers: { "x-hub-signature-256": signature } }),
      ),
    );
    expect(new Set(answers.map(({ json }) => json.error)).size).toBe(1);
  });

  it("looks at the signature before the body: broken JSON is a matter for those who sign", async () => {
    const unsigned = await deliver(app(), {
      bytes: "{",
      headers: { "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
    });
    expect(unsigned.status).toBe(401);
    const id = randomUUID();
    expect((await deliver(app(), { id, bytes: "{" })).status).toBe(202);
    expect(await workedOff(app(), id)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("JSON"),
    });
  });

  it("refuses bytes that are no UTF-8 and an empty body", async () => {
    expect((await deliver(app(), { bytes: Buffer.from([0x7b, 0xff, 0x7d]) })).status).toBe(401);
    expect((await deliver(app(), { bytes: "" })).status).toBe(401);
  });

  it("takes other methods for a mistake, and other addresses for unknown", async () => {
    const get = await rawRequest(app().port, { target: "/api/github/webhooks" });
    expect([get.status, get.headers.allow]).toEqual([405, "POST"]);
    const below = await rawRequest(app().port, { method: "POST", target: "/api/github/webhooks/x" });
    expect(below.status).toBe(404);
  });

  it("takes a payload of 25 MiB and refuses one more byte", async () => {
    const id = randomUUID();
    expect((await deliver(app(), { event: "ping", id, bytes: payloadOf(25 * MiB) })).status).toBe(202);
    expect(await workedOff(app(), id)).toMatchObject({ state: "ignored" });
    const before = await stored();
    const answer = await deliver(app(), { event: "ping", bytes: payloadOf(25 * MiB + 1) });
    expect([answer.status, answer.json]).toEqual([413, { error: expect.stringContaining("send less") }]);
    expect(await stored()).toBe(before);
  });

  it("refuses by the length that is announced, before anything is sent", async () => {
    const head = [
      "POST /api/github/webhooks HTTP/1.1",
      "Host: localhost",
      "Content-Type: application/json",
      "X-GitHub-Event: push",
      `X-GitHub-Delivery: ${randomUUID()}`,
      `X-Hub-Signature-256: ${signatureOf("")}`,
    ];
    const socket = connect(app().port, "127.0.0.1");
    socket.write(`${head.join("\r\n")}\r\nContent-Length: ${26 * MiB}\r\n\r\n`);
    const [announced] = await once(socket, "data");
    expect(String(announced)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("refuses a body of unknown length as soon as it is too large", async () => {
    const chunk = new Uint8Array(MiB).fill(0x20);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ < 30) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const response = await fetch(`${app().url}/api/github/webhooks`, {
      method: "POST",
      body,
      duplex: "half",
      headers: {
        "content-type": "application/json",
        "x-github-event": "ping",
        "x-github-delivery": randomUUID(),
        "x-hub-signature-256": signatureOf("x"),
      },
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  it("refuses what stays too large when it is compressed", async () => {
    const bytes = JSON.stringify({ zen: randomBytes(11 * MiB).toString("base64") });
    const answer = await deliver(app(), { event: "ping", bytes });
    expect([answer.status, answer.json.error]).toEqual([413, expect.stringContaining("compressed")]);
  });

  it("stores one of fifty that come at once under one id, and works it off once", async () => {
    const [id, before] = [randomUUID(), await stored()];
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => deliver(app(), { event: "ping", id, payload: ping })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(202));
    expect(await workedOff(app(), id)).toMatchObject({ attempts: 1 });
    expect((await deliver(app(), { event: "ping", id, payload: ping })).status).toBe(202);
    expect(await stored()).toBe(before + 1);
    expect(await app().db.read("jobs").where({ kind: "github.delivery" })).toEqual([]);
  });

  it("shows the secret, the signature and the payload to no log", async () => {
    await deliver(app(), { event: "ping", payload: { ...ping, zen: "nobody-logs-this" } });
    const text = app().logs().join("\n");
    expect(text).toContain("/api/github/webhooks");
    expect(text).not.toMatch(/nobody-logs-this|sha256=/);
    expect(text).not.toContain(webhookSecret);
  });
});

describe("without a webhook secret", () => {
  const app = useApp();

  it("nothing is at the address, and the list is empty", async () => {
    expect((await deliver(app(), { payload: {} })).status).toBe(404);
    expect((await app().request("GET", "/deliveries")).json).toEqual({ deliveries: [], nextBefore: null });
  });
});
