import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type App, createApp } from "../app.ts";
import { type Foundation, layFoundation } from "../foundation.ts";
import { loadFramework } from "../frameworks/index.ts";
import type { Config } from "../platform/config.ts";
import { createHttpServer } from "../platform/http/index.ts";
import { secretKeyOf } from "../platform/secret-key.ts";
import { createSampleRepository, openRepository, type Repository } from "../repositories/index.ts";
import { describeStart } from "./describe-start.ts";

/** Time to finish what is under way after SIGTERM, milliseconds. */
const graceMs = 25_000;

/** `rollcall start`: serves until SIGTERM or SIGINT. Returns the exit code. */
export async function startCommand(config: Config): Promise<number> {
  const foundation = await layFoundation(config);
  const { logger } = foundation;
  const repository = await openConfigured(config);
  const { reader } = repository;
  const secretKeys = config.secretKeys ?? [secretKeyOf(config.home)];
  const app = createApp(foundation, {
    ...repository,
    secretKeys,
    publicUrl: config.publicUrl,
    checkResponses: false,
  });
  const server = await listen(app, foundation);
  const stopped = stopOnSignal(app, server, foundation);
  await app.start();
  process.stdout.write(
    `${await describeStart({ foundation, app, reader, address: addressOf(server, config) })}\n`,
  );
  // The first run should not pay for the import of its framework.
  void loadFramework("ai-sdk").catch((error) =>
    logger.warn({ err: error }, "a framework could not be loaded"),
  );
  return stopped;
}

/** The configured repository, or the sample one, which is made on the first start. */
export async function openConfigured(config: Config): Promise<Repository> {
  if (config.repository) return openRepository(config.repository);
  const path = join(config.home, "agents");
  await createSampleRepository(
    path,
    fileURLToPath(new URL("../../examples/agents-repository", import.meta.url)),
  );
  return openRepository({ kind: "local", path });
}

async function listen(app: App, { config, ids, logger, firstKey }: Foundation): Promise<Server> {
  const server = createHttpServer(app.http, { ids, logger });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      // The key is stored and shown only once: a port in use must not lose it.
      if (firstKey && !config.adminKey) process.stdout.write(`Admin key, shown this once: ${firstKey}\n`);
      reject(error);
    });
    server.listen(config.port, config.host, resolve);
  });
  return server;
}

function addressOf(server: Server, config: Config): string {
  if (config.publicUrl) return config.publicUrl;
  const { port } = server.address() as AddressInfo;
  const host = ["0.0.0.0", "::"].includes(config.host) ? "127.0.0.1" : config.host;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The first signal stops in order, a second one at once. Settles with the exit code. */
function stopOnSignal(app: App, server: Server, { logger }: Foundation): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = async (signal: NodeJS.Signals) => {
      if (stopping) process.exit(1);
      stopping = true;
      logger.info({ signal }, "stopping");
      app.beginStop();
      const closed = new Promise<void>((done) => server.close(() => done()));
      // A connection that is busy now is idle, and still open, once its answer is sent.
      const closing = setInterval(() => server.closeIdleConnections(), 50);
      const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
      await app.stop(graceMs, closed);
      clearInterval(closing);
      clearTimeout(deadline);
      logger.info("stopped");
      logger.flush();
      resolve(0);
      // Agenda leaves a timer behind that would keep the process for up to a quarter of a minute.
      setImmediate(() => process.exit(0));
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop(signal));
  });
}
