/**
 * The whole service as `rollcall start` assembles it, configured by the environment, with short leases, so
 * that what they are for happens within a test. Prints `ready at URL`. SIGTERM gives it half a second for the
 * runs under way.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp } from "../../src/app.ts";
import { layFoundation } from "../../src/foundation.ts";
import { readConfig } from "../../src/platform/config.ts";
import { openRepository } from "../../src/repositories/index.ts";

const config = readConfig();
if (!config.repository || !config.secretKeys) throw new Error("The environment lacks something.");
const foundation = await layFoundation(config);
const app = createApp(foundation, {
  ...openRepository(config.repository),
  secretKeys: config.secretKeys,
  publicUrl: "http://127.0.0.1",
  checkResponses: false,
  worker: { leaseMs: 2_500, renewMs: 300, sweepMs: 200, abandonMs: 2_000 },
});
const server = createServer(app.http).listen(0, "127.0.0.1");
await once(server, "listening");
await app.start();
console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`);

process.once("SIGTERM", async () => {
  app.beginStop();
  server.close();
  server.closeAllConnections();
  await app.stop(500);
  console.log("stopped");
});
