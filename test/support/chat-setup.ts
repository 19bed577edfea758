import { onTestFinished } from "vitest";
import { type Answer, type AppSetup, startApp, type TestApp } from "./app.ts";
import type { Engine } from "./databases.ts";
import { agentFiles } from "./run-requests.ts";
import { type EventOptions, type SlackSimulator, startSlackSimulator } from "./slack-simulator.ts";

export interface ChatSetup {
  app: TestApp;
  slack: SlackSimulator;
  id: string;
  /** Where Slack posts the app's events to. */
  eventsUrl: string;
  /** Installs the app as an admin does with a browser; answers the last page. */
  install(): Promise<Response>;
  /** A user mentions the bot, in a thread when one is given. Returns the message's ts once it was taken. */
  mention(text: string, place?: MentionPlace): Promise<string>;
  change(body: Record<string, unknown>): Promise<Answer>;
  /** The bot's answers in a thread, oldest first. */
  answers(thread: string): string[];
  /** Settles when nothing waits any more: every delivery is worked off and no conversation has an open turn. */
  settled(): Promise<void>;
  /** Runs of chat apps, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: rows as they are
  runs(): Promise<any[]>;
  /** Deliveries, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: rows as they are
  deliveries(): Promise<any[]>;
}

export interface MentionPlace extends EventOptions {
  thread?: string;
  channel?: string;
  user?: string;
  ts?: string;
  /** A direct message instead of a mention. */
  direct?: boolean;
}

const labelled = { labels: ["chat"] };

/** The service with Slack to talk to and a chat app that is installed unless `installed` is false. */
export async function startWithChat({
  engine = "sqlite",
  agents = { echo: labelled },
  body = {},
  installed = true,
  env = {},
  prepare = () => {},
  ...setup
}: {
  engine?: Engine;
  agents?: Record<string, Record<string, unknown>>;
  /** Over what the chat app is made with. */
  body?: Record<string, unknown>;
  installed?: boolean;
  prepare?(slack: SlackSimulator): void;
} & Omit<AppSetup, "files"> = {}): Promise<ChatSetup> {
  const slack = await startSlackSimulator();
  onTestFinished(() => slack.close());
  prepare(slack);
  const files = agentFiles(agents);
  const app = await startApp({ engine, files, env: { SLACK_API_URL: slack.apiUrl, ...env }, ...setup });
  return addChatApp(app, slack, { body, installed });
}

/** A chat app in a service that has that Slack to talk to. */
export async function addChatApp(
  app: TestApp,
  slack: SlackSimulator,
  { body = {}, installed = true }: { body?: Record<string, unknown>; installed?: boolean } = {},
): Promise<ChatSetup> {
  const { clientId, clientSecret, signingSecret } = slack;
  const made = await app.request("POST", "/chat-apps", {
    body: {
      name: "Helper",
      agentLabels: ["chat"],
      secrets: { clientId, clientSecret, signingSecret },
      ...body,
    },
  });
  if (made.status !== 201) throw new Error(`The chat app was refused: ${made.text}`);
  const { id } = made.json.chatApp;
  const eventsUrl = `${app.url}/api/hooks/chat/${id}`;
  const install = () => installInBrowser(app, id);
  if (installed) {
    const page = await install();
    if (page.status !== 200) throw new Error(`The chat app was not installed: ${await page.text()}`);
  }
  return {
    ...{ app, slack, id, eventsUrl, install },
    async mention(text, { thread, channel, user = "U1", ts = slack.nextTs(), direct, ...options } = {}) {
      const place = { channel: channel ?? (direct ? "D1" : "C1"), ...(thread ? { thread_ts: thread } : {}) };
      const kind = direct
        ? { type: "message", channel_type: "im", text }
        : { type: "app_mention", text: `<@${slack.botUserId}> ${text}` };
      const event = { ...kind, ...place, user, ts, event_ts: ts, team: slack.teamId };
      const statuses = await slack.deliver(eventsUrl, event, options);
      if (statuses.at(-1) !== 200) throw new Error(`The event was answered with ${statuses}.`);
      return ts;
    },
    change: (changes) => app.request("PATCH", `/chat-apps/${id}`, { body: changes }),
    answers: (thread) => slack.messages.filter((each) => each.threadTs === thread).map(({ text }) => text),
    async settled() {
      const deadline = performance.now() + 15_000;
      for (;;) {
        const open = [
          ...(await app.db.read("deliveries").where({ source: "chat", state: "received" }).pluck("id")),
          ...(await app.db.read("chat_turns").whereNot({ state: "done" }).pluck("id")),
        ];
        if (open.length === 0) return;
        if (performance.now() > deadline) throw new Error(`Still open: ${open.join(", ")}.`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    runs: () => app.db.read("runs").where({ trigger: "chat" }).orderBy("id"),
    deliveries: () => app.db.read("deliveries").where({ source: "chat" }).orderBy("id"),
  };
}

/** Opens a fresh link, presses the button, says yes at Slack and comes back. Addresses lead to the test's port. */
export async function installInBrowser(app: TestApp, id: string): Promise<Response> {
  const link = await app.request("POST", `/chat-apps/${id}/install-link`);
  if (link.status !== 201) throw new Error(`There is no link: ${link.text}`);
  const begun = await pressButton(here(app, link.json.url));
  const back = await fetch(begun.url, { redirect: "manual" });
  return comeBack(app, back.headers.get("location") ?? "", begun.cookie);
}

/** What the button of an install link leads to, with the cookie that it sets. */
export async function pressButton(url: string): Promise<{ status: number; url: string; cookie: string }> {
  const { status, headers } = await fetch(url, { method: "POST", redirect: "manual" });
  return {
    status,
    url: headers.get("location") ?? "",
    cookie: headers.get("set-cookie")?.split(";")[0] ?? "",
  };
}

export const comeBack = (app: TestApp, location: string, cookie: string): Promise<Response> =>
  fetch(here(app, location), { headers: { cookie } });

/** The same address where the test's service listens. */
export function here(app: Pick<TestApp, "url">, address: string): string {
  const { pathname, search } = new URL(address);
  return app.url + pathname + search;
}
