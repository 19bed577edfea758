import { generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { AppCredentials } from "../../src/repositories/index.ts";
import { createSimulatedHost, pullRequestRoutes, type SimulatedHost } from "./github-pull-request-routes.ts";
import { repositoryRoutes, type ServedRepository } from "./github-repository-routes.ts";
import { writingRoutes } from "./github-writing-routes.ts";

/**
 * GitHub for tests: a real HTTP server on a free port with one App, installed on one repository. Access is
 * checked as GitHub checks it: a JWT signed with the App's key for the App's own calls, an installation token
 * for all others. Further endpoints are added as routes (`{ route: "GET /path/:name", answer }`).
 */
export interface GitHubSimulator {
  owner: string;
  repo: string;
  /** Credentials of the App, with the address of this server. */
  app: Required<AppCredentials>;
  /** The variables with which the service reads this repository, as that of a GitHub Enterprise Server. */
  env: Readonly<Record<string, string>>;
  /** What is served; a test may change it while the server runs. */
  served: ServedRepository;
  /** Pull requests, and what was written on commits; a test may change all of it while the server runs. */
  host: SimulatedHost;
  /** `METHOD /path?query` of every call so far, token calls included, oldest first. */
  calls: string[];
  /**
   * Has the next calls (one, unless told) whose `METHOD /path` begins with the prefix fail; the repository's own part of
   * a path may be left out: `POST /statuses/`. `lost` means that the call is done but its answer does not arrive.
   */
  failNext(prefix: string, failure: SimulatedAnswer | "lost", times?: number): void;
  /** Makes every token that was given out so far invalid. */
  expireTokens(): void;
  /** The App is removed from the repository and installed again, under another id. */
  reinstall(): void;
  /** The App stays installed, but without the repository; or gets it back. */
  setAccess(access: boolean): void;
  close(): Promise<void>;
}

/** The App's key: one for all simulators of a process, because making one takes longer than most tests. */
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

export interface SimulatedAnswer {
  status?: number;
  body: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Answered 304 without a body when the caller names it. */
  etag?: string;
}

export interface SimulatedCall {
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: unknown;
}

export interface SimulatedRoute {
  route: string;
  /** Called with the App's own JWT in place of an installation token. */
  asApp?: boolean;
  answer(call: SimulatedCall): Promise<SimulatedAnswer>;
}

export interface GitHubSimulatorOptions {
  gitdir: string;
  routes?: readonly SimulatedRoute[];
}

const OWNER = "acme";
const REPO = "agents";
const APP_ID = "4711";

export async function startGitHubSimulator(options: GitHubSimulatorOptions): Promise<GitHubSimulator> {
  const served = { gitdir: options.gitdir, defaultBranch: "main", treeLimit: 100_000 };
  const tokens = new Set<string>();
  const calls: string[] = [];
  const installation = { id: newInstallationId(), access: true };
  const host = createSimulatedHost(`${OWNER}/${REPO}`);
  const faults: { prefix: string; failure: SimulatedAnswer | "lost" }[] = [];
  const routes = [
    ...accessRoutes(installation, tokens),
    ...pullRequestRoutes(host, served),
    ...repositoryRoutes(served),
    ...writingRoutes(host, served),
    ...(options.routes ?? []),
  ].map(compile);

  function takeFault(call: string): SimulatedAnswer | "lost" | undefined {
    const short = call.replace(`/repos/${OWNER}/${REPO}`, "");
    const index = faults.findIndex(({ prefix }) => call.startsWith(prefix) || short.startsWith(prefix));
    return index === -1 ? undefined : faults.splice(index, 1)[0]?.failure;
  }

  /** Undefined when the caller gets no answer. */
  async function answer(request: IncomingMessage): Promise<SimulatedAnswer | undefined> {
    const url = new URL(request.url ?? "/", "http://simulator");
    // A GitHub Enterprise Server has both of its APIs below /api.
    const path = url.pathname.replace(/^\/api(\/v3)?(?=\/)/, "");
    calls.push(`${request.method} ${path}${url.search}`);
    const fault = takeFault(`${request.method} ${path}${url.search}`);
    const body = await readBody(request);
    if (fault !== undefined && fault !== "lost") return fault;
    const answered = await answerRoute(request, path, url.searchParams, body);
    return fault === "lost" ? undefined : answered;
  }

  async function answerRoute(
    request: IncomingMessage,
    path: string,
    query: URLSearchParams,
    body: unknown,
  ): Promise<SimulatedAnswer> {
    const [, token = ""] = /^(?:bearer|token) (.+)$/i.exec(request.headers.authorization ?? "") ?? [];
    for (const { method, pattern, asApp, answer } of routes) {
      const match = method === request.method ? pattern.exec(path) : null;
      if (match === null) continue;
      if (!(asApp ? isSigned(token, publicKey) : tokens.has(token))) {
        return { status: 401, body: { message: "Bad credentials" } };
      }
      const names = Object.entries(match.groups ?? {});
      const params = Object.fromEntries(names.map(([name, value]) => [name, decodeURIComponent(value)]));
      if ((params.owner ?? OWNER) !== OWNER || (params.repo ?? REPO) !== REPO) break;
      if (params.repo !== undefined && !installation.access) break;
      return answer({ params, query, body });
    }
    return { status: 404, body: { message: "Not Found" } };
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (answered) => {
        if (answered === undefined) return void request.socket.destroy();
        const { status = 200, body, etag } = answered;
        const unchanged = etag !== undefined && request.headers["if-none-match"] === etag;
        const type = { "content-type": "application/json; charset=utf-8" };
        const headers = { ...type, ...(etag ? { etag } : {}), ...answered.headers };
        response.writeHead(unchanged ? 304 : status, headers).end(unchanged ? "" : JSON.stringify(body));
      },
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

  return {
    owner: OWNER,
    repo: REPO,
    app: { appId: APP_ID, privateKey: pem, baseUrl: `http://127.0.0.1:${port}` },
    env: {
      ROLLCALL_REPOSITORY: `${OWNER}/${REPO}`,
      APP_ID,
      PRIVATE_KEY: pem,
      GHE_HOST: `127.0.0.1:${port}`,
      GHE_PROTOCOL: "http",
    },
    served,
    host,
    calls,
    failNext(prefix, failure, times = 1) {
      for (let count = 0; count < times; count += 1) faults.push({ prefix, failure });
    },
    expireTokens: () => tokens.clear(),
    reinstall() {
      tokens.clear();
      installation.id = newInstallationId();
    },
    setAccess(access) {
      installation.access = access;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Octokit paces GraphQL calls by installation within one process: tests must not slow each other down. */
const newInstallationId = () => Math.ceil(Math.random() * 1e9);

function accessRoutes(installation: { id: number }, tokens: Set<string>): SimulatedRoute[] {
  return [
    {
      route: "GET /repos/:owner/:repo/installation",
      asApp: true,
      answer: async () => ({ body: { id: installation.id, account: { login: OWNER } } }),
    },
    {
      route: "POST /app/installations/:id/access_tokens",
      asApp: true,
      async answer({ params }) {
        if (Number(params.id) !== installation.id) return { status: 404, body: { message: "Not Found" } };
        const token = `ghs_${crypto.randomUUID().replaceAll("-", "")}`;
        tokens.add(token);
        const expires = new Date(Date.now() + 3_600_000).toISOString();
        const permissions = {
          contents: "write",
          metadata: "read",
          pull_requests: "write",
          statuses: "write",
          checks: "write",
        };
        return {
          status: 201,
          body: { token, expires_at: expires, permissions, repository_selection: "all" },
        };
      },
    },
  ];
}

/** Turns `GET /a/:name` into a matcher; a parameter reaches to the next slash, as GitHub's do. */
function compile({ route, asApp = false, answer }: SimulatedRoute) {
  const [method, path = ""] = route.split(" ");
  const pattern = new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`);
  return { method, pattern, asApp, answer };
}

function isSigned(jwt: string, key: KeyObject): boolean {
  const [head = "", claims = "", signature = ""] = jwt.split(".");
  if (!verify("sha256", Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url")))
    return false;
  return String(JSON.parse(Buffer.from(claims, "base64url").toString()).iss) === APP_ID;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const text = Buffer.concat(await request.toArray()).toString();
  return text === "" ? undefined : JSON.parse(text);
}
