import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { createTimedFetch } from "../../../src/repositories/github/timed-fetch.ts";

it("a timed fetch gives up on a server that never answers, and on one that never ends", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/endless") response.writeHead(200).write("a");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const timedFetch = createTimedFetch(50);
  await expect(timedFetch(`${origin}/silent`)).rejects.toMatchObject({ name: "TimeoutError" });
  const begun = await timedFetch(`${origin}/endless`);
  await expect(begun.text()).rejects.toMatchObject({ name: "TimeoutError" });
  await expect(timedFetch(origin, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: "AbortError",
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
