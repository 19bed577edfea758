import { MongoBackend } from "@agendajs/mongo-backend";
import { MongoClient, type MongoClientOptions, MongoServerError } from "mongodb";
import { ConfigError } from "../config.ts";
import type { WakeStore } from "./wake-store.ts";

const collectionName = "rollcall_wake_ups";
const duplicateKey = 11_000;

/** Short limits: a clock that is late is worth less than one that is known to be away. */
const options: MongoClientOptions = {
  appName: "rollcall",
  maxPoolSize: 10,
  serverSelectionTimeoutMS: 2_000,
  connectTimeoutMS: 2_000,
  socketTimeoutMS: 5_000,
  waitQueueTimeoutMS: 2_000,
};

/**
 * A store in MongoDB, connected when it is used for the first time. The driver reconnects by itself after a
 * loss, but not when the very first attempt has failed: only another `connect` helps then. Throws ConfigError when the address cannot be understood.
 */
export function openMongoStore(url: string): WakeStore {
  const client = clientOf(url);
  // An emitter of errors that nobody listens to would end the process.
  client.on("error", () => {});
  const database = client.db(databaseNameOf(url));
  let closed = false;
  const { repository } = new MongoBackend({
    mongo: database,
    collection: collectionName,
    ensureIndex: false,
  });
  return {
    kind: "mongodb",
    backend: {
      name: "MongoDB",
      repository,
      ownsConnection: false,
      // Not the backend's own, which makes indexes: Agenda does not listen for its failure.
      connect: () => repository.connect(),
      async disconnect() {},
    },
    async open() {
      if (closed) throw new Error("The scheduler has stopped.");
      await client.connect();
      // The driver would stay connected when it is closed in the middle of connecting.
      if (closed) await client.close();
    },
    async prepare() {
      const collection = database.collection(collectionName);
      // Follows the order of Agenda's poll and holds all that it filters by.
      await collection.createIndex({ name: 1, nextRunAt: 1, priority: -1, lockedAt: 1, disabled: 1 });
      try {
        await collection.createIndex({ name: 1, "data.bucket": 1 }, { unique: true });
      } catch (error) {
        // Two processes inserted at the same moment into a store that had just been emptied. A wake-up too
        // many does no harm, and the index is made the next time.
        if (!isDuplicate(error)) throw error;
      }
    },
    isDuplicate,
    async close() {
      closed = true;
      await client.close();
    },
  };
}

const isDuplicate = (error: unknown) => error instanceof MongoServerError && error.code === duplicateKey;

function clientOf(url: string): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch {
    // The driver's own message may quote the address, which may hold a password.
    throw new ConfigError([
      "MONGODB_URL is not an address that MongoDB's driver understands; write mongodb://user:password@host/database and percent-encode special characters.",
    ]);
  }
}

/** The database that the address names. The driver would take one called "test" when it names none. */
function databaseNameOf(url: string): string {
  const [, name] = /^[^/]+\/\/[^/]+\/([^?]+)/.exec(url) ?? [];
  return name ? decodeURIComponent(name) : "rollcall";
}
