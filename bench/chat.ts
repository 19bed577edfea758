import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestRepository } from "../test/support/git-repository.ts";
import { type SlackSimulator, startSlackSimulator } from "../test/support/slack-simulator.ts";
import type { Engine } from "./engines.ts";
import { get, post } from "./load.ts";
import { type Server, startServer } from "./server.ts";
import { type Figure, percentile } from "./table.ts";

const runsUnderWay = 50;
const warmUp = 100;
const events = 500;
/** Twice what Slack sends for one workspace at the most, 30,000 an hour. */
const perSecond = 17;
const targetMs = 100;
const bareSecret = "bench-webhook-secret-0123456789-0123";

interface RunPage {
  runs: { id: string; status: string }[];
  nextBefore: string | null;
}

/** Events of Slack, answered while runs are under way; afterwards each event that was taken is one run. */
export async function measureChat(engine: Engine, script: string): Promise<Figure[]> {
  const slack = await startSlackSimulator();
  slack.burst = Number.POSITIVE_INFINITY;
  const model = await startStallingModel();
  const repository = await createTestRepository();
  await repository.commit({
    "agents/ai-sdk/hello.json": spec("hello", { model: "offline/echo", labels: ["bench"] }),
    "agents/ai-sdk/slow.json": spec("slow", { model: "ollama/slow", retries: 0 }),
  });
  const yardstick = await startServer("bench/webhook-yardstick.ts", [], { WEBHOOK_SECRET: bareSecret });
  const port = await freePort();
  const server = await startServer(script, ["start"], {
    ...(await engine.fresh()),
    SLACK_API_URL: slack.apiUrl,
    OLLAMA_BASE_URL: model.url,
    PORT: port,
    ROLLCALL_URL: `http://127.0.0.1:${port}`,
    ROLLCALL_CONCURRENCY: "100",
    ROLLCALL_REPOSITORY: repository.gitdir,
  });
  try {
    const url = await install(server, slack);
    for (let n = 0; n < runsUnderWay; n++)
      await post(`${server.url}/api/v1/runs`, { agent: "slow", message: "wait" });
    await runsAre(server, "status=running&agent=slow", runsUnderWay);
    await send(slack, url, yardstick.url, warmUp);
    const { ours, bare } = await send(slack, url, yardstick.url, events);
    await runsAre(server, "status=running&agent=slow", runsUnderWay);
    await runsAre(server, "status=succeeded&trigger=chat", warmUp + events);
    const p99 = percentile(ours, 0.99);
    return [
      {
        what: `events of Slack answered, ${runsUnderWay} runs under way, ${perSecond}/s (p50 ${percentile(ours, 0.5).toFixed(1)} ms; a bare server with an HMAC and a durable SQLite insert, on the same machine in turn: p50 ${percentile(bare, 0.5).toFixed(1)} ms, p99 ${percentile(bare, 0.99).toFixed(1)} ms; every one of ${warmUp + events} ended as one run)`,
        engine: engine.name,
        measured: `p99 ${p99.toFixed(1)} ms`,
        target: `${targetMs} ms`,
        met: p99 < targetMs,
      },
    ];
  } finally {
    await Promise.all([server.stop(), slack.close(), model.stop(), yardstick.stop(), repository.remove()]);
  }
}

/** Milliseconds of each event. They come at a steady rate, whatever the answers take, as Slack sends them. */
async function send(
  slack: SlackSimulator,
  url: string,
  bareUrl: string,
  amount: number,
): Promise<{ ours: number[]; bare: number[] }> {
  const startedAt = performance.now();
  const sent: Promise<number>[] = [];
  const bare: Promise<number>[] = [];
  for (let n = 0; n < 2 * amount; n++) {
    await sleep(Math.max(0, startedAt + (n * 500) / perSecond - performance.now()));
    // In turn, so that both sides see the same machine.
    (n % 2 === 0 ? sent : bare).push(sendOne(slack, n % 2 === 0 ? url : bareUrl));
  }
  return { ours: await Promise.all(sent), bare: await Promise.all(bare) };
}

async function sendOne(slack: SlackSimulator, url: string): Promise<number> {
  const ts = slack.nextTs();
  const event = { type: "app_mention", channel: "C1", user: "U1", text: "hello: hi", ts };
  const body = slack.envelope(event);
  const bare = createHmac("sha256", bareSecret).update(body).digest("hex");
  const headers = { ...slack.sign(body), "x-signature": bare, "content-type": "application/json" };
  const startedAt = performance.now();
  const response = await fetch(url, { method: "POST", body, headers });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`An event was answered with ${response.status}.`);
  return performance.now() - startedAt;
}

/** Makes a chat app and installs it as a browser does. Returns where its events go. */
async function install(
  server: Server,
  { clientId, clientSecret, signingSecret }: SlackSimulator,
): Promise<string> {
  const secrets = { clientId, clientSecret, signingSecret };
  const made = await post<{ chatApp: { id: string } }>(`${server.url}/api/v1/chat-apps`, {
    name: "bench",
    agentLabels: ["bench"],
    secrets,
  });
  const path = `/api/v1/chat-apps/${made.chatApp.id}`;
  const link = await post<{ url: string }>(`${server.url}${path}/install-link`, undefined);
  const begun = await fetch(link.url, { method: "POST", redirect: "manual" });
  const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
  const back = await fetch(begun.headers.get("location") ?? "", { redirect: "manual" });
  const done = await fetch(back.headers.get("location") ?? "", { headers: { cookie } });
  if (done.status !== 200) throw new Error(`The chat app was not installed: ${await done.text()}`);
  return `${server.url}/api/hooks/chat/${made.chatApp.id}`;
}

async function runsAre(server: Server, filter: string, expected: number): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    let found = 0;
    let before = "";
    for (;;) {
      const page = await get<RunPage>(`${server.url}/api/v1/runs?${filter}&limit=200${before}`);
      found += page.runs.length;
      if (page.nextBefore === null) break;
      before = `&before=${page.nextBefore}`;
    }
    if (found === expected) return;
    if (found > expected || performance.now() > deadline)
      throw new Error(`${found} runs have ${filter}; it should be ${expected}.`);
    await sleep(200);
  }
}

const spec = (name: string, more: object) =>
  JSON.stringify({ name, framework: "ai-sdk", instructions: "You are measured.", ...more });

/** A model that never answers. */
async function startStallingModel(): Promise<{ url: string; stop(): Promise<void> }> {
  const model = createServer(() => {}).listen(0, "127.0.0.1");
  await once(model, "listening");
  return {
    url: `http://127.0.0.1:${(model.address() as AddressInfo).port}`,
    async stop() {
      model.closeAllConnections();
      model.close();
    },
  };
}

/** The service has to know its own address before it has one. */
async function freePort(): Promise<string> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return String(port);
}
