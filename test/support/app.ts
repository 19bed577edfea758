import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { copyFile, mkdtemp } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { type App, createApp } from "../../src/app.ts";
import { type Foundation, layFoundation } from "../../src/foundation.ts";
import { readConfig } from "../../src/platform/config.ts";
import type { Database } from "../../src/platform/db/index.ts";
import { createHttpServer, type Role } from "../../src/platform/http/index.ts";
import { openRepository } from "../../src/repositories/index.ts";
import { type Engine, freshDatabase } from "./databases.ts";
import { createTestRepository, type TestFile, type TestRepository } from "./git-repository.ts";
import type { DatabaseTemplate } from "./template.ts";

export type RepositoryFiles = Readonly<Record<string, TestFile>>;

export interface AppSetup {
  /** Content of the repository's first commit; the sample repository's unless given. */
  files?: RepositoryFiles;
  /** Added to the environment that the service reads. The rate limit is off unless it is set here. */
  env?: Readonly<Record<string, string>>;
  /** Whether each answer is checked against its declared shape; true unless given. */
  checkResponses?: boolean;
}

export interface RequestSetup {
  /** API key; the admin's unless given, none when null. */
  key?: string | null;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
}

/** The whole service as `rollcall start` assembles it, on a free port of loopback. */
export interface TestApp {
  /** Address of the server, without a path. */
  readonly url: string;
  readonly port: number;
  /** Key of the first admin. */
  readonly key: string;
  readonly workspaceId: string;
  readonly db: Database;
  readonly access: Foundation["access"];
  readonly app: App;
  /** `path` is below /api/v1 and goes through the client's own normalisation. */
  request(method: string, path: string, setup?: RequestSetup): Promise<Answer>;
  /** Adds a member and returns a key of theirs. */
  member(login: string, role: Role): Promise<string>;
  /** Commits changed and new files (null deletes) and settles with the commit's id once the catalog shows it. */
  commit(changes: Readonly<Record<string, TestFile | null>>): Promise<string>;
  /** Lines that were logged so far, as they were written. */
  logs(): readonly string[];
  stop(): Promise<void>;
}

/** What failed is tried again after the shortest waits that there can be, so that tests do not wait for chance. */
const soonAgain = { pollMs: 200, random: () => 0.05 };

/** Starts the service for the running test alone; it is stopped, and its data removed, when that test is finished. */
export async function startApp({
  engine = "sqlite",
  ...setup
}: AppSetup & { engine?: Engine } = {}): Promise<TestApp> {
  if (engine === "sqlite") return stoppedAfterTest(await launch(setup));
  const { config } = await freshDatabase("mysql");
  const url = config.engine === "mysql" ? config.url : "";
  return stoppedAfterTest(await launch({ ...setup, env: { ...setup.env, DATABASE_URL: url } }));
}

/** Starts the service, on SQLite, for a describe block or a file. Call the result within a test or a hook. */
export function useApp(setup: AppSetup = {}): () => TestApp {
  let current: TestApp | undefined;
  beforeAll(async () => {
    current = await launch(setup);
  });
  afterAll(() => current?.stop());
  return () => {
    if (!current)
      throw new Error("The service starts before the first test; use it within a test or a hook.");
    return current;
  };
}

function stoppedAfterTest(app: TestApp): TestApp {
  onTestFinished(app.stop);
  return app;
}

async function launch({
  files = sampleFiles(),
  env = {},
  checkResponses = true,
}: AppSetup): Promise<TestApp> {
  const home = await mkdtemp(join(tmpdir(), "rollcall-app-"));
  // Tests that start no servers have no template, and their service migrates.
  const template: DatabaseTemplate | undefined = inject("databaseTemplate");
  if (template) await copyFile(template.sqlite, join(home, "rollcall.sqlite"));
  const repository = await createTestRepository();
  await repository.commit(files);
  const key = `admin-${randomBytes(16).toString("hex")}`;
  const config = readConfig({
    ROLLCALL_HOME: home,
    ROLLCALL_REPOSITORY: repository.gitdir,
    ROLLCALL_ADMIN_KEY: key,
    ROLLCALL_SECRET_KEY: randomBytes(32).toString("hex"),
    ROLLCALL_API_RATE_LIMIT: "0",
    ...env,
  });
  const lines: string[] = [];
  const foundation = await layFoundation(config, { write: (line) => void lines.push(line) });
  if (!config.repository) throw new Error("The service has no repository.");
  const app = createApp(foundation, {
    ...openRepository(config.repository),
    secretKeys: config.secretKeys ?? [],
    publicUrl: "http://127.0.0.1",
    checkResponses,
    worker: soonAgain,
  });
  const server = createHttpServer(app.http, foundation).listen(0, "127.0.0.1");
  await once(server, "listening");
  await app.start();
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const { db, access, workspaceId } = foundation;
  return {
    url,
    port,
    key,
    workspaceId,
    db,
    access,
    app,
    request: (method, path, setup) => send(`${url}/api/v1${path}`, method, { key, ...setup }),
    member: (login, role) => addMember(foundation, login, role),
    commit: committer(foundation, repository, files),
    logs: () => lines,
    stop: stopper(app, server, async () => {
      await repository.remove();
      rmSync(home, { recursive: true, force: true });
    }),
  };
}

async function send(url: string, method: string, { key, body, headers }: RequestSetup): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

function addMember({ db, access, workspaceId }: Foundation, login: string, role: Role): Promise<string> {
  return db.transaction(async (tx) => {
    await access.members.add(tx, { workspaceId, login, role });
    return (await access.apiKeys.create(tx, { workspaceId, member: login, name: "test" })).key;
  });
}

function committer(
  { db, workspaceId }: Foundation,
  repository: TestRepository,
  first: RepositoryFiles,
): TestApp["commit"] {
  const files = new Map(Object.entries(first));
  return async (changes) => {
    for (const [path, file] of Object.entries(changes)) {
      if (file === null) files.delete(path);
      else files.set(path, file);
    }
    const sha = await repository.commit(Object.fromEntries(files));
    const deadline = performance.now() + 10_000;
    while (performance.now() < deadline) {
      const catalog = await db.read("catalogs").where({ workspace_id: workspaceId }).first();
      if (catalog?.commit_sha === sha) return sha;
      await sleep(10);
    }
    throw new Error(`The catalog did not come to show the commit ${sha}.`);
  };
}

/** Stops as `rollcall start` does on a signal, without waiting for connections that clients keep open. */
function stopper(app: App, server: Server, cleanUp: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    app.beginStop();
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
    await app.stop(2_000);
    await cleanUp();
  }
  return () => {
    stopped ??= stop();
    return stopped;
  };
}

/** The files that come with Rollcall as examples, as the sample repository has them. */
export function sampleFiles(): Record<string, string> {
  const root = fileURLToPath(new URL("../../examples/agents-repository", import.meta.url));
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(root.length + 1), readFileSync(path, "utf8")];
    }),
  );
}
