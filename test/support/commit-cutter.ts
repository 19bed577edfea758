import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CommitCutter {
  /** `base` with this proxy's host and port in the place of the server's. */
  url(base: string): string;
  /** Resets the connection of the next COMMIT: before it reaches the server, or once the server has answered it. */
  cutNext(where: "request" | "answer"): void;
  /** How many were cut. */
  readonly cuts: number;
  stop(): Promise<void>;
}

/** Starts a TCP proxy in front of a MySQL server (a URL) that leaves its client in doubt about a commit. */
export async function startCommitCutter(target: string): Promise<CommitCutter> {
  const upstream = new URL(target);
  const sockets = new Set<Socket>();
  let next: "request" | "answer" | undefined;
  let cuts = 0;

  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // A broken connection is what this is for.
    socket.once("close", () => sockets.delete(socket));
    return socket;
  };
  const listener = createServer((client) => {
    track(client);
    const server = track(connect({ host: upstream.hostname, port: Number(upstream.port) }));
    let awaitsAnswer = false;
    const cut = () => {
      cuts++;
      client.resetAndDestroy();
      server.destroy();
    };
    client.on("data", (chunk) => {
      if (next === undefined || !chunk.includes("COMMIT;")) return void server.write(chunk);
      const where = next;
      next = undefined;
      if (where === "request") return cut();
      awaitsAnswer = true;
      server.write(chunk);
    });
    server.on("data", (chunk) => (awaitsAnswer ? cut() : void client.write(chunk)));
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;
  return {
    url: (base) => Object.assign(new URL(base), { hostname: "127.0.0.1", port: String(port) }).href,
    cutNext(where) {
      next = where;
    },
    get cuts() {
      return cuts;
    },
    async stop() {
      const closed = once(listener, "close");
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
