import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type RepositoryFiles, startApp, type TestApp } from "./app.ts";
import type { Engine } from "./databases.ts";
import { createTestRepository, type TestRepository } from "./git-repository.ts";
import { type Payload, signatureOf, webhookSecret } from "./github-payloads.ts";
import { type GitHubSimulator, startGitHubSimulator } from "./github-simulator.ts";

export interface TestDelivery {
  event?: string;
  id?: string;
  /** Sent as JSON, unless `bytes` are given. */
  payload?: Payload;
  bytes?: Uint8Array<ArrayBuffer> | string;
  /** Over the usual ones; undefined leaves one out. */
  headers?: Readonly<Record<string, string | undefined>>;
}

/** Posts a delivery as GitHub does, signed unless the headers say otherwise. */
export async function deliver(
  app: Pick<TestApp, "url">,
  { event = "push", id = randomUUID(), payload, bytes = JSON.stringify(payload), headers }: TestDelivery,
): Promise<{ status: number; json: Payload; headers: Headers }> {
  const all: Record<string, string | undefined> = {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": signatureOf(bytes),
    ...headers,
  };
  const sent = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const response = await fetch(`${app.url}/api/github/webhooks`, {
    method: "POST",
    headers: sent as [string, string][],
    body: bytes,
  });
  return { status: response.status, json: await response.json(), headers: response.headers };
}

/** The newest delivery with that GitHub id, once it is worked off. */
export async function workedOff(app: TestApp, deliveryId: string): Promise<Payload> {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    const { json } = await app.request("GET", "/deliveries?limit=200");
    const found = json.deliveries.find((each: Payload) => each.deliveryId === deliveryId);
    if (found && found.state !== "received") return found;
    await sleep(10);
  }
  throw new Error(`The delivery ${deliveryId} was not worked off.`);
}

export interface GitHubService {
  app: TestApp;
  github: GitHubSimulator;
  repository: TestRepository;
  /** Sends a delivery and settles with its record once it is worked off. */
  send(delivery: TestDelivery): Promise<Payload>;
  catalog(): Promise<Payload>;
}

/** The service with a simulated GitHub, for the running test alone. */
export async function startGitHubService(
  files: RepositoryFiles,
  { engine, env }: { engine?: Engine; env?: Record<string, string> } = {},
): Promise<GitHubService> {
  const repository = await createTestRepository();
  onTestFinished(() => repository.remove());
  await repository.commit(files);
  const github = await startGitHubSimulator(repository);
  onTestFinished(() => github.close());
  const app = await startApp({ engine, env: { ...github.env, WEBHOOK_SECRET: webhookSecret, ...env } });
  return {
    app,
    github,
    repository,
    async send(delivery) {
      const id = delivery.id ?? randomUUID();
      const { status, json } = await deliver(app, { ...delivery, id });
      if (status !== 202) throw new Error(`The delivery was answered ${status}: ${JSON.stringify(json)}`);
      return workedOff(app, id);
    },
    catalog: async () => (await app.request("GET", "/agents?limit=200")).json.catalog,
  };
}
