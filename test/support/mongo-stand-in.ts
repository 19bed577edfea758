import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Document } from "bson";
import { createMongoStore } from "./mongo-stand-in-store.ts";
import { readRequests, writeReply } from "./mongo-stand-in-wire.ts";

export interface MongoStandIn {
  /** `mongodb://` address without a database. */
  readonly url: string;
  /** Every command that came, without the driver's own greetings. */
  readonly commands: readonly Document[];
  stop(): Promise<void>;
}

/**
 * Starts a server on a free loopback port to which MongoDB's driver connects: its wire protocol in front of
 * mingo's queries and updates in memory. It is no MongoDB: it knows the commands that Agenda's use needs, and
 * has no sessions, cursors, authentication or replicas. Faults come from a proxy in front of it.
 */
export async function startMongoStandIn(): Promise<MongoStandIn> {
  const store = createMongoStore();
  const sockets = new Set<Socket>();
  const commands: Document[] = [];

  const serve = (socket: Socket) => {
    let rest: Buffer = Buffer.alloc(0);
    sockets.add(socket);
    socket.on("error", () => {}); // Clients may go as they please.
    socket.once("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      const read = readRequests(Buffer.concat([rest, chunk]));
      rest = read.rest;
      for (const request of read.requests) {
        const { command } = request;
        if (!("hello" in command || "ismaster" in command || "isMaster" in command)) commands.push(command);
        const answer = store.run(command);
        if (!request.silent) socket.write(writeReply(request, answer));
      }
    });
  };

  const listener = createServer(serve);
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;
  return {
    url: `mongodb://127.0.0.1:${port}`,
    commands,
    async stop() {
      const closed = once(listener, "close");
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
