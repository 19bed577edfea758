import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach } from "vitest";
import { z } from "zod";
import { consoleRoutes } from "../../src/console/index.ts";
import { EvalId, EvalSuite } from "../../src/evals/schema.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type AppError, conflict, notFound } from "../../src/platform/errors.ts";
import {
  createHttpApp,
  createHttpServer,
  createRateLimit,
  defineEndpoint,
  type Endpoint,
} from "../../src/platform/http/index.ts";
import { createIds } from "../../src/platform/ids.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { pullRequestEndpoints } from "../../src/pull-requests/endpoints.ts";
import type { PullRequestHead } from "../../src/pull-requests/schema.ts";
import { useDatabase } from "./databases.ts";
import { setUpWorkspace } from "./workspace.ts";

/** What the API answers; a test may change it at any time. */
export interface Canned {
  heads: PullRequestHead[];
  suites: Map<string, EvalSuite>;
  /** Answered instead of the heads. */
  failure: AppError | undefined;
}

export interface ConsoleServer {
  url: string;
  canned: Canned;
  /** Keys of members with these roles. */
  keys: { operator: string; viewer: string };
  /** `METHOD /path?query` of all requests so far, oldest first. */
  requests: string[];
  /** Settles when the next request for heads has come in. */
  asked(): Promise<void>;
}

/**
 * For each test of the file: the console and the API as the service mounts them, with real keys, roles and shapes. Only
 * what the operations know of pull requests and suites is canned.
 */
export function useConsole(servesApi = true): () => ConsoleServer {
  const database = useDatabase("sqlite");
  let current: Awaited<ReturnType<typeof startConsole>> | undefined;
  beforeEach(async () => {
    current = await startConsole(database.db, servesApi);
  });
  afterEach(() => current?.stop());
  return () => {
    if (!current) throw new Error("The server starts before each test; use it within a test.");
    return current;
  };
}

async function startConsole(db: ReturnType<typeof useDatabase>["db"], servesApi: boolean) {
  const { access, addMember, logger } = await setUpWorkspace(db);
  const keys = { operator: await addMember("olga", "operator"), viewer: await addMember("vera", "viewer") };
  const canned: Canned = { heads: [], suites: new Map(), failure: undefined };
  let waiting: (() => void)[] = [];
  const ids = createIds();
  const stopping = new AbortController();
  const app = createHttpApp({
    logger,
    ids,
    endpoints: cannedEndpoints(canned, () => {
      for (const resolve of waiting) resolve();
      waiting = [];
    }),
    hooks: [],
    publicUrl: "/",
    schemas: {},
    console: consoleRoutes(),
    mount: {
      db,
      clock: systemClock,
      rateLimit: createRateLimit(db, systemClock, "api", 0),
      authenticate: access.authenticate,
      auditRow: access.auditRow,
      stopping: stopping.signal,
      checkResponses: true,
    },
    health: { db, metrics: createMetrics(db), catalogRead: async () => true, stopping: stopping.signal },
    servesApi,
  });
  const requests: string[] = [];
  const server = createHttpServer(app, { ids, logger }).listen(0, "127.0.0.1");
  // Before Express, which shortens the address on its way through its routers.
  server.prependListener("request", ({ method, url }) => void requests.push(`${method} ${url}`));
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    canned,
    keys,
    requests,
    asked: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    async stop() {
      stopping.abort();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await access.stop();
    },
  };
}

function cannedEndpoints(canned: Canned, asked: () => void): Endpoint[] {
  const unknown = () => notFound("No pull request of that number is known here.");
  return [
    ...pullRequestEndpoints({
      async list(_workspaceId, { headSha }) {
        asked();
        if (canned.failure) throw canned.failure;
        return { pullRequests: canned.heads.filter((head) => head.headSha === headSha), nextBefore: null };
      },
      async get() {
        throw unknown();
      },
      approve: ({ actor, number, headSha, write }) =>
        write.transaction(async () => {
          const head = canned.heads.find((each) => each.number === number);
          if (!head) throw unknown();
          if (head.headSha !== headSha)
            throw conflict("The pull request has another head by now; look at it.");
          Object.assign(head, { state: "planning", approvedBy: actor.login });
          return { answer: head, target: head.id };
        }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/evals/{id}",
      id: "getEval",
      tag: "Evals",
      role: "viewer",
      summary: "Canned suites",
      params: EvalId,
      status: 200,
      response: z.object({ eval: EvalSuite }),
      async handle({ params }) {
        const suite = canned.suites.get(params.id);
        if (!suite) throw notFound("There is no eval suite of that id.");
        return { eval: suite };
      },
    }),
  ];
}
