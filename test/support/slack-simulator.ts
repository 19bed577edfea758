import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

type Fields = Record<string, string>;
type Json = Record<string, unknown>;

export interface SlackMessage {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  text: string;
  /** Every text that it had, the newest last. */
  versions: string[];
}

export interface SlackUser {
  email?: string;
  confirmed?: boolean;
  deleted?: boolean;
}

export interface SlackCallRecord {
  method: string;
  fields: Fields;
  /** Epoch milliseconds. */
  at: number;
  /** What was answered; undefined while nothing was. */
  status?: number;
}

/**
 * `stall` never answers; `lost` does what is asked and then cuts the connection; `garbage` answers what is no JSON. An
 * answer is held back until `until` settles; without an error what is asked is done before.
 */
export type SlackFault =
  | { error: string; until?: Promise<unknown> }
  | { until: Promise<unknown> }
  | { status: number; retryAfter?: number }
  | "stall"
  | "lost"
  | "garbage";

export interface EventOptions {
  eventId?: string;
  teamId?: string;
  /** Seconds added to the clock for the timestamp. */
  skew?: number;
  secret?: string;
  eventTime?: number;
}

/** Slack as far as a bot sees it: OAuth, the Web API, and events that are signed and repeated. */
export interface SlackSimulator {
  /** Address of the Web API. */
  apiUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly signingSecret: string;
  readonly teamId: string;
  readonly botUserId: string;
  /** Whether tokens are given for a time and with a refresh token, seconds; undefined: for ever. */
  expiresIn: number | undefined;
  /** Answers of oauth.v2.access are for a whole organisation. */
  enterprise: boolean;
  users: Map<string, SlackUser>;
  channels: Set<string>;
  /** Messages a channel takes at once before it takes one a second; Slack lets short bursts through. */
  burst: number;
  /** Messages that may be changed at once before 50 a minute may be, in all channels. */
  updateBurst: number;
  /** Milliseconds of what Slack calls a second or a minute, so that tests do not wait for whole ones. */
  secondMs: number;
  /** Tokens of bots that are good, oldest first. */
  tokens: string[];
  messages: SlackMessage[];
  /** Texts that have called people or a whole channel. */
  pings: string[];
  calls: SlackCallRecord[];
  called(method: string): SlackCallRecord[];
  /** The next `times` calls of a method get this. */
  fail(method: string, fault: SlackFault, times?: number): void;
  /** A name for a message of a user, later than all before. */
  nextTs(): string;
  /** Body and headers of a signed event. */
  sign(body: string, options?: EventOptions): Record<string, string>;
  envelope(event: Json, options?: EventOptions): string;
  /** Posts an event once, signed. */
  post(url: string, event: Json, options?: EventOptions): Promise<Response>;
  /** Posts an event as Slack does: up to three times more until it is taken. Returns the statuses. */
  deliver(url: string, event: Json, options?: EventOptions): Promise<number[]>;
  /** Settles with the first message that fits as soon as there is one; throws after 15 s. */
  message(fits: (message: SlackMessage) => boolean): Promise<SlackMessage>;
  close(): Promise<void>;
}

/** Starts on a free port of loopback. */
export async function startSlackSimulator(): Promise<SlackSimulator> {
  const faults = new Map<string, SlackFault[]>();
  const codes = new Set<string>();
  const refreshTokens = new Set<string>();
  const spent = new Map<string, number[]>();
  const changed = new EventTarget();
  let clock = Math.floor(Date.now() / 1000);
  let count = 0;

  const hex = (bytes: number) => randomBytes(bytes).toString("hex");

  const simulator: SlackSimulator = {
    apiUrl: "",
    clientId: "111.222",
    clientSecret: hex(16),
    signingSecret: hex(16),
    teamId: "T0ACME",
    botUserId: "U0BOT",
    expiresIn: undefined,
    enterprise: false,
    users: new Map(),
    channels: new Set(["C1", "C2", "D1"]),
    burst: 100,
    updateBurst: 100,
    secondMs: 1_000,
    tokens: [],
    messages: [],
    pings: [],
    calls: [],
    called: (method) => simulator.calls.filter((call) => call.method === method),
    fail(method, fault, times = 1) {
      faults.set(method, [...(faults.get(method) ?? []), ...Array<SlackFault>(times).fill(fault)]);
    },
    nextTs: () => `${++clock}.${String(++count).padStart(6, "0")}`,
    sign(body, { skew = 0, secret = simulator.signingSecret } = {}) {
      const timestamp = String(Math.floor(Date.now() / 1000) + skew);
      const digest = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
      return { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${digest}` };
    },
    envelope: (event, { eventId = `Ev${hex(6)}`, teamId = simulator.teamId, eventTime } = {}) =>
      JSON.stringify({
        token: "verification-token-canary",
        team_id: teamId,
        api_app_id: "A0APP",
        event,
        type: "event_callback",
        event_id: eventId,
        event_time: eventTime ?? Math.floor(Date.now() / 1000),
        authorizations: [{ team_id: teamId, user_id: simulator.botUserId, is_bot: true }],
      }),
    post(url, event, options = {}) {
      const body = simulator.envelope(event, options);
      return send(url, body, simulator.sign(body, options));
    },
    async deliver(url, event, options = {}) {
      const body = simulator.envelope(event, options);
      const statuses: number[] = [];
      for (let retry = 0; retry <= 3; retry++) {
        const again: Fields =
          retry === 0 ? {} : { "x-slack-retry-num": String(retry), "x-slack-retry-reason": "http_error" };
        const response = await send(url, body, { ...simulator.sign(body, options), ...again });
        statuses.push(response.status);
        if (response.ok || response.headers.get("x-slack-no-retry") === "1") break;
        await sleep(20 * retry);
      }
      return statuses;
    },
    async message(fits) {
      const deadline = AbortSignal.timeout(15_000);
      for (;;) {
        const found = simulator.messages.find(fits);
        if (found) return found;
        await once(changed, "message", { signal: deadline }).catch(() => {
          throw new Error(`No message fits; there are ${JSON.stringify(simulator.messages)}.`);
        });
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const issue = (): Json => {
    const token = `xoxb-${hex(12)}`;
    simulator.tokens.push(token);
    if (simulator.expiresIn === undefined) return { access_token: token, token_type: "bot" };
    const refresh = `xoxe-1-${hex(12)}`;
    refreshTokens.add(refresh);
    const expiring = { refresh_token: refresh, expires_in: simulator.expiresIn };
    return { access_token: token, token_type: "bot", ...expiring };
  };

  function access(fields: Fields): Json {
    if (fields.client_id !== simulator.clientId) return refused("invalid_client_id");
    if (fields.client_secret !== simulator.clientSecret) return refused("bad_client_secret");
    if (fields.grant_type === "refresh_token") {
      if (!refreshTokens.delete(fields.refresh_token ?? "")) return refused("invalid_refresh_token");
      return { ok: true, ...issue() };
    }
    if (!codes.delete(fields.code ?? "")) return refused("invalid_code");
    const team = simulator.enterprise ? null : { id: simulator.teamId, name: "Acme" };
    return {
      ok: true,
      app_id: "A0APP",
      bot_user_id: simulator.botUserId,
      team,
      scope: "chat:write",
      ...issue(),
    };
  }

  function write(fields: Fields): Json {
    const { channel = "", text = "", thread_ts, ts } = fields;
    if (!simulator.channels.has(channel)) return refused("channel_not_found");
    if (text.trim() === "") return refused("no_text");
    if (text.length > 4_000) return refused("msg_too_long");
    const known = simulator.messages.find((each) => each.ts === ts && each.channel === channel);
    if (ts !== undefined && !known) return refused("message_not_found");
    const message = known ?? { channel, ts: simulator.nextTs(), threadTs: thread_ts, text, versions: [] };
    if (!known) simulator.messages.push(message);
    if (/<[!@]/.test(text) || (fields.link_names === "true" && text.includes("@")))
      simulator.pings.push(text);
    message.text = text;
    message.versions.push(text);
    changed.dispatchEvent(new Event("message"));
    return { ok: true, channel, ts: message.ts };
  }

  /** Milliseconds until another call of that kind is taken; 0 when this one is. One more is taken every `perCall` ms. */
  function waitFor(what: string, burst: number, perCall: number): number {
    const now = Date.now();
    const window = burst * perCall;
    const times = (spent.get(what) ?? []).filter((at) => now - at < window);
    spent.set(what, times);
    if (times.length >= burst) return (times[0] ?? now) + window - now;
    times.push(now);
    return 0;
  }

  function limitOf(method: string, { channel = "" }: Fields): number {
    const { burst, updateBurst, secondMs } = simulator;
    if (method === "chat.postMessage") return waitFor(channel, burst, secondMs);
    return method === "chat.update" ? waitFor(method, updateBurst, (secondMs * 60) / 50) : 0;
  }

  function answer(method: string, fields: Fields, token: string): Json {
    if (method === "oauth.v2.access") return access(fields);
    if (!simulator.tokens.includes(token)) return refused("invalid_auth");
    switch (method) {
      case "auth.test":
        return { ok: true, team_id: simulator.teamId, user_id: simulator.botUserId };
      case "auth.revoke":
        simulator.tokens = simulator.tokens.filter((each) => each !== token);
        return { ok: true, revoked: true };
      case "users.info":
        return describe(simulator.users.get(fields.user ?? ""), fields.user ?? "");
      case "chat.postMessage":
      case "chat.update":
        return write(fields);
      default:
        return refused("unknown_method");
    }
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://slack");
    if (pathname === "/oauth/v2/authorize") return authorize(res, searchParams, codes, simulator.clientId);
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const fields: Fields = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
    const method = pathname.replace(/^\/api\//, "");
    const call: SlackCallRecord = { method, fields, at: Date.now() };
    simulator.calls.push(call);
    const reply = (status: number, body: Json | string, headers: Fields = {}) => {
      call.status = status;
      res.writeHead(status, { "content-type": "application/json", ...headers });
      res.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    const fault = faults.get(method)?.shift();
    if (fault === "stall") return;
    if (fault === "garbage") return reply(200, "<html>down</html>");
    if (typeof fault === "object" && "error" in fault) {
      await fault.until;
      return reply(200, refused(fault.error));
    }
    if (typeof fault === "object" && "status" in fault)
      return reply(fault.status, "", fault.retryAfter ? { "retry-after": String(fault.retryAfter) } : {});
    const waitMs = limitOf(method, fields);
    if (waitMs > 0)
      return reply(429, refused("ratelimited"), { "retry-after": String(Math.ceil(waitMs / 1_000)) });
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? "")?.[1] ?? fields.token ?? "";
    const body = answer(method, fields, token);
    if (typeof fault === "object") await fault.until;
    if (fault === "lost") req.socket.resetAndDestroy();
    else reply(200, body);
  }

  const server = createServer((req, res) => void serve(req, res)).listen(0, "127.0.0.1");
  await once(server, "listening");
  simulator.apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  return simulator;
}

const refused = (error: string): Json => ({ ok: false, error });

function describe(user: SlackUser | undefined, id: string): Json {
  if (!user) return refused("user_not_found");
  const { email, confirmed = true, deleted = false } = user;
  return {
    ok: true,
    user: {
      id,
      deleted,
      is_bot: false,
      is_email_confirmed: confirmed,
      profile: { ...(email ? { email } : {}) },
    },
  };
}

/** Whoever is asked says yes. */
function authorize(res: ServerResponse, query: URLSearchParams, codes: Set<string>, clientId: string): void {
  const back = new URL(query.get("redirect_uri") ?? "http://nowhere.invalid");
  if (query.get("client_id") !== clientId) back.searchParams.set("error", "invalid_client_id");
  else {
    const code = randomBytes(8).toString("hex");
    codes.add(code);
    back.searchParams.set("code", code);
  }
  back.searchParams.set("state", query.get("state") ?? "");
  res.writeHead(302, { location: back.href }).end();
}

function send(url: string, body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
}
