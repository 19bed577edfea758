import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type RepositoryFiles, startApp, type TestApp } from "./app.ts";
import { type Script, startScript } from "./child-process.ts";
import { type Engine, freshDatabase } from "./databases.ts";
import { createTestRepository, type TestRepository } from "./git-repository.ts";
import { type ModelSimulator, startModelSimulator } from "./model-simulator.ts";

/** Several processes on one database, one repository and one model server. */
export interface RunCluster {
  readonly simulator: ModelSimulator;
  readonly repository: TestRepository;
  /** What all of its processes have in common. */
  readonly env: Readonly<Record<string, string>>;
  /** A member of it inside the test's own process, with the key of the first admin in its requests. */
  join(env?: Readonly<Record<string, string>>): Promise<TestApp>;
  /** One in a process of its own with short leases; see run-process.ts. Settles when it is ready. */
  spawn(env?: Readonly<Record<string, string>>): Promise<{ script: Script; url: string }>;
}

const processFile = fileURLToPath(new URL("./run-process.ts", import.meta.url));

/** For the running test alone; ended and removed with it. */
export async function startRunCluster(engine: Engine, files: RepositoryFiles): Promise<RunCluster> {
  const simulator = await startModelSimulator();
  onTestFinished(simulator.close);
  const repository = await createTestRepository();
  onTestFinished(repository.remove);
  await repository.commit(files);
  const home = await mkdtemp(join(tmpdir(), "rollcall-cluster-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { config } = await freshDatabase(engine);
  const key = `admin-${randomBytes(16).toString("hex")}`;
  const env = {
    ROLLCALL_HOME: home,
    DATABASE_URL: config.engine === "mysql" ? config.url : `sqlite:${config.path}`,
    ROLLCALL_REPOSITORY: repository.gitdir,
    ROLLCALL_SECRET_KEY: randomBytes(32).toString("hex"),
    ROLLCALL_ADMIN_KEY: key,
    ROLLCALL_API_RATE_LIMIT: "0",
    OPENAI_COMPATIBLE_BASE_URL: `${simulator.origin}/v1`,
    LOG_LEVEL: "error",
  };
  return {
    simulator,
    repository,
    env,
    async join(more) {
      const app = await startApp({ files: {}, env: { ...env, ...more } });
      return { ...app, key, request: (method, path, setup) => app.request(method, path, { key, ...setup }) };
    },
    async spawn(more) {
      const script = startScript(processFile, { env: { ...env, ...more } });
      const line = await script.waitForLine(/^ready at /);
      return { script, url: line.slice("ready at ".length) };
    },
  };
}
