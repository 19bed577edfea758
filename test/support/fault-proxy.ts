import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface FaultProxy {
  readonly port: number;
  /** `base` with this proxy's host and port in the place of the server's. */
  url(base: string): string;
  /** From now on bytes and connection ends go nowhere, as in a partitioned network; connecting still works. */
  pause(): void;
  /** Resets all connections, and new ones as they come. */
  refuse(): void;
  /** Ends `pause` and `refuse`; bytes held by `pause` are delivered. */
  resume(): void;
  /** Resets the connections there are; new ones work. */
  dropAll(): void;
  /** Holds every chunk back by so many milliseconds, in both directions; 0 ends it. */
  delay(ms: number): void;
  /** Resets all connections and closes the port. */
  stop(): Promise<void>;
}

/** Starts a TCP proxy on a free loopback port in front of the server that `target` (a URL) names. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const upstream = new URL(target);
  const sockets = new Set<Socket>();
  const gate = createGate();
  let refusing = false;
  let delayMs = 0;

  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {}); // A broken connection is what this is for.
    socket.once("close", () => sockets.delete(socket));
    return socket;
  };
  const dropAll = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const relay = async (from: Socket, to: Socket) => {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        if (delayMs > 0) await sleep(delayMs);
        await gate.opened();
        if (!to.write(chunk)) await once(to, "drain");
      }
      await gate.opened();
      to.end();
    } catch {
      await gate.opened();
      to.resetAndDestroy();
    }
  };
  const accept = async (client: Socket) => {
    track(client);
    if (refusing) return client.resetAndDestroy();
    await gate.opened();
    if (client.destroyed) return undefined;
    const server = track(
      connect({ host: upstream.hostname, port: Number(upstream.port), allowHalfOpen: true }),
    );
    return await Promise.all([relay(client, server), relay(server, client)]);
  };

  const listener = createServer({ allowHalfOpen: true }, (client) => void accept(client));
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;
  return {
    port,
    url: (base) => Object.assign(new URL(base), { hostname: "127.0.0.1", port: String(port) }).href,
    pause: () => gate.close(),
    refuse() {
      refusing = true;
      dropAll();
      gate.open();
    },
    resume() {
      refusing = false;
      gate.open();
    },
    dropAll,
    delay(ms) {
      delayMs = ms;
    },
    async stop() {
      const closed = once(listener, "close");
      listener.close();
      dropAll();
      gate.open();
      await closed;
    },
  };
}

/** A point that can be passed while it is open; those who come to it closed wait. */
function createGate() {
  let passage = Promise.withResolvers<void>();
  passage.resolve();
  return {
    opened: () => passage.promise,
    open: () => passage.resolve(),
    close() {
      passage.resolve(); // Nobody is left behind when it is closed twice.
      passage = Promise.withResolvers<void>();
    },
  };
}
