import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ComposioDelivery, signDelivery } from "./composio-deliveries.ts";

type Json = Record<string, unknown>;

export interface SimulatedTool {
  slug: string;
  toolkit: string;
  description?: string;
  input?: Json;
  noAuth?: boolean;
  /** What an execution answers; echoes its arguments unless given. */
  run?(args: Json): { successful: boolean; data?: unknown; error?: unknown };
}

export interface SimulatedAccount {
  id: string;
  toolkit: string;
  userId: string;
  status: string;
  isDisabled?: boolean;
}

export interface SimulatedTrigger {
  id: string;
  uuid: string;
  slug: string;
  accountId: string;
  config: Json;
  disabled: boolean;
}

export interface SimulatedTriggerType {
  slug: string;
  toolkit: string;
  config: Json;
}

export interface ComposioCallRecord {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Json;
}

/** `stall` never answers, `garbage` answers what is no JSON, `cut` breaks off in the middle of the answer. */
export type ComposioFault =
  | { status: number; retryAfter?: string; message?: string }
  | "stall"
  | "garbage"
  | "cut"
  | "redirect";

/** Composio's REST API v3.1 as far as Rollcall calls it, on a free port of loopback. */
export interface ComposioSimulator {
  /** Base address without the API's path. */
  url: string;
  /** The key that it accepts. */
  apiKey: string;
  tools: SimulatedTool[];
  /** Toolkits with an auth config that is switched on. */
  toolkits: Set<string>;
  accounts: SimulatedAccount[];
  triggerTypes: SimulatedTriggerType[];
  triggers: SimulatedTrigger[];
  subscriptions: Json[];
  /** Key of the signatures. */
  secret: string;
  /** Items on a page, whatever is asked for. */
  pageSize: number;
  /** The next upsert of a trigger answers 204. */
  silentUpsert: boolean;
  calls: ComposioCallRecord[];
  /** The next `times` calls whose `METHOD /path` fits get this instead of an answer. */
  fail(pattern: RegExp, fault: ComposioFault, times?: number): void;
  /** Calls whose `METHOD /path` fits. */
  called(pattern: RegExp): ComposioCallRecord[];
  /** Headers and body of a signed delivery. */
  sign(delivery: ComposioDelivery): { headers: Record<string, string>; body: string };
  /** Posts a signed delivery. */
  deliver(url: string, delivery: ComposioDelivery): Promise<Response>;
  close(): Promise<void>;
}

/** Planted in every account's `state`: it must not be found anywhere in Rollcall. */
export const maskedToken = "gho_maskedcanary4711";

export async function startComposioSimulator(): Promise<ComposioSimulator> {
  const faults: { pattern: RegExp; fault: ComposioFault; left: number }[] = [];
  const server = createServer((request, response) => {
    void handle(request, response).catch((error) => {
      response.writeHead(500).end(String(error));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const simulator: ComposioSimulator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: `ak_${randomUUID()}`,
    tools: [],
    toolkits: new Set(),
    accounts: [],
    triggerTypes: [],
    triggers: [],
    subscriptions: [],
    secret: `ws-${randomUUID()}`,
    pageSize: 2,
    silentUpsert: false,
    calls: [],
    fail: (pattern, fault, times = 1) => void faults.push({ pattern, fault, left: times }),
    called: (pattern) => simulator.calls.filter(({ method, path }) => pattern.test(`${method} ${path}`)),
    sign: (delivery) => signDelivery(simulator.secret, delivery),
    deliver(url, delivery) {
      const { headers, body } = signDelivery(simulator.secret, delivery);
      return fetch(url, { method: "POST", headers, body });
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://simulator");
    const path = url.pathname.replace(/^\/api\/v3\.1/, "");
    const call = {
      method: request.method ?? "",
      path,
      query: url.searchParams,
      body: await bodyOf(request),
    };
    simulator.calls.push(call);
    const at = `${call.method} ${path}`;
    const failing = faults.find((each) => each.left > 0 && each.pattern.test(at));
    if (failing) {
      failing.left -= 1;
      return breakOff(failing.fault, response);
    }
    if (request.headers["x-api-key"] !== simulator.apiKey)
      return answer(response, 401, { error: { message: `Invalid API key ${request.headers["x-api-key"]}` } });
    const [status, body] = respond(simulator, call);
    answer(response, status, body);
  }

  return simulator;
}

function breakOff(fault: ComposioFault, response: ServerResponse): void {
  if (fault === "stall") return;
  if (fault === "garbage") return void response.writeHead(200).end("<html>not json</html>");
  if (fault === "redirect") return void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end();
  if (fault === "cut") {
    response.writeHead(200, { "content-length": "1000" });
    response.write('{"items":[');
    setImmediate(() => response.destroy());
    return;
  }
  const { status, retryAfter, message = "Something is wrong." } = fault;
  if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
  answer(response, status, { error: { message, status } });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text === "" ? {} : JSON.parse(text);
}

type Reply = [number, unknown?];
const missing: Reply = [404, { error: { message: "Not found" } }];

function respond(state: ComposioSimulator, { method, path, query, body }: ComposioCallRecord): Reply {
  const page = (items: unknown[]): Reply => {
    const from = Number(query.get("cursor") ?? 0);
    const to = from + state.pageSize;
    return [200, { items: items.slice(from, to), next_cursor: to < items.length ? String(to) : null }];
  };
  const only = (name: string, value: string) => {
    const wanted = query.get(name)?.split(",");
    return wanted === undefined || wanted.includes(value);
  };
  const [first, second, third] = path.slice(1).split("/").map(decodeURIComponent);
  switch (`${method} ${first}`) {
    case "GET tools":
      return page(state.tools.filter((tool) => only("toolkit_slug", tool.toolkit)).map(wireTool));
    case "POST tools":
      return execute(state, third ?? "", body);
    case "GET auth_configs":
      return page(
        [...state.toolkits]
          .filter((slug) => only("toolkit_slug", slug))
          .map((slug) => ({ id: `ac_${slug}`, toolkit: { slug }, status: "ENABLED" })),
      );
    case "GET connected_accounts": {
      const found = state.accounts.filter(
        ({ id, userId }) => only("user_ids", userId) && only("connected_account_ids", id),
      );
      return page(found.map(wireAccount));
    }
    case "POST connected_accounts":
      return second === "link" ? link(state, body) : missing;
    case "GET triggers_types": {
      if (second === undefined) {
        const types = state.triggerTypes.filter(({ toolkit }) => only("toolkit_slugs[]", toolkit));
        return page(types.map(wireTriggerType));
      }
      const type = state.triggerTypes.find(({ slug }) => slug === second);
      return type ? [200, wireTriggerType(type)] : missing;
    }
    case "GET trigger_instances":
      return page(
        state.triggers
          .filter(({ id, accountId }) => only("trigger_ids", id) && only("connected_account_ids", accountId))
          .map(wireTrigger),
      );
    case "POST trigger_instances":
      return upsert(state, second ?? "", body);
    case "PATCH trigger_instances":
    case "DELETE trigger_instances": {
      const trigger = state.triggers.find(({ id }) => id === third);
      if (!trigger) return missing;
      if (method === "DELETE") state.triggers = state.triggers.filter((each) => each !== trigger);
      else trigger.disabled = body.status === "disable";
      return [200, { status: "success" }];
    }
    default:
      return first === "webhook_subscriptions" ? subscription(state, method, second, body) : missing;
  }
}

function subscription(state: ComposioSimulator, method: string, id: string | undefined, body: Json): Reply {
  if (method === "GET") return [200, { items: state.subscriptions }];
  if (method === "POST") {
    const made = { id: `wh_${randomUUID()}`, secret: state.secret, ...body };
    state.subscriptions.push(made);
    return [201, made];
  }
  const known = state.subscriptions.find((each) => each.id === id);
  return known ? [200, Object.assign(known, body)] : missing;
}

function execute(state: ComposioSimulator, slug: string, body: Json): Reply {
  const tool = state.tools.find((each) => each.slug === slug);
  if (!tool) return missing;
  const usable = state.accounts.some(
    ({ userId, toolkit, status }) =>
      userId === body.user_id && toolkit === tool.toolkit && status === "ACTIVE",
  );
  if (!usable && !tool.noAuth)
    return [400, { error: { message: `No connected account found for user ${body.user_id}` } }];
  const args = (body.arguments ?? {}) as Json;
  const result = tool.run?.(args) ?? { successful: true, data: { echoed: args } };
  return [200, { data: {}, error: null, log_id: "log_1", ...result }];
}

function link(state: ComposioSimulator, { auth_config_id, user_id }: Json): Reply {
  const id = `ca_${randomUUID()}`;
  const toolkit = String(auth_config_id).slice("ac_".length);
  state.accounts.push({ id, toolkit, userId: String(user_id), status: "INITIATED" });
  const token = `lk_${randomUUID()}`;
  return [
    201,
    {
      link_token: token,
      redirect_url: `https://connect.composio.test/link/${token}`,
      expires_at: new Date(Date.now() + 600_000).toISOString(),
      connected_account_id: id,
    },
  ];
}

function upsert(state: ComposioSimulator, slug: string, body: Json): Reply {
  const accountId = String(body.connected_account_id);
  const config = body.trigger_config as Json;
  const same = state.triggers.find(
    (each) =>
      each.slug === slug.toUpperCase() &&
      each.accountId === accountId &&
      JSON.stringify(each.config) === JSON.stringify(config),
  );
  const trigger = same ?? {
    id: `ti_${randomUUID()}`,
    uuid: randomUUID(),
    slug: slug.toUpperCase(),
    accountId,
    config,
    disabled: false,
  };
  trigger.disabled = false;
  if (!same) state.triggers.push(trigger);
  if (state.silentUpsert) return [204];
  return [same ? 200 : 201, { trigger_id: trigger.id }];
}

const wireTool = ({ slug, toolkit, description = "", input, noAuth = false }: SimulatedTool) => ({
  slug,
  name: slug.toLowerCase().replaceAll("_", " "),
  description,
  toolkit: { slug: toolkit, name: toolkit, logo: "" },
  input_parameters: input ?? { type: "object", properties: {} },
  output_parameters: {},
  no_auth: noAuth,
  version: "20260901_00",
  is_deprecated: false,
});

const wireAccount = ({ id, toolkit, userId, status, isDisabled = false }: SimulatedAccount) => ({
  id,
  toolkit: { slug: toolkit },
  auth_config: { id: `ac_${toolkit}`, auth_scheme: "OAUTH2", is_disabled: false },
  status,
  status_reason: null,
  is_disabled: isDisabled,
  user_id: userId,
  state: { authScheme: "OAUTH2", val: { access_token: maskedToken } },
});

const wireTriggerType = ({ slug, toolkit, config }: SimulatedTriggerType) => ({
  slug,
  name: slug,
  description: "",
  instructions: "",
  type: "webhook",
  toolkit: { slug: toolkit, name: toolkit, logo: "" },
  config,
  payload: { type: "object" },
  version: "1",
});

const wireTrigger = ({ id, uuid, slug, accountId, config, disabled }: SimulatedTrigger) => ({
  id,
  uuid,
  connected_account_id: accountId,
  trigger_name: slug,
  trigger_config: config,
  disabled_at: disabled ? new Date().toISOString() : null,
});
