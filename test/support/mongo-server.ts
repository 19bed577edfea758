import { randomBytes } from "node:crypto";
import { MongoClient } from "mongodb";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { type MongoStandIn, startMongoStandIn } from "./mongo-stand-in.ts";

/** What the tests' MongoDB is, for their titles. */
export const mongoTitle = process.env.TEST_MONGODB_URL
  ? "MongoDB (the server of TEST_MONGODB_URL)"
  : "MongoDB's driver (stand-in, not a MongoDB server)";

export interface MongoForTest {
  /** Address of a database of its own, behind the proxy. */
  readonly url: string;
  readonly proxy: FaultProxy;
  /** Undefined when it is a real server. */
  readonly standIn: MongoStandIn | undefined;
  /** Drops the database past the proxy. */
  empty(): Promise<void>;
  /** Drops the database and ends what was started. */
  stop(): Promise<void>;
}

/** A database on the server that TEST_MONGODB_URL names, or else on a stand-in, behind a proxy that can cut it off. */
export async function startMongo(): Promise<MongoForTest> {
  const given = process.env.TEST_MONGODB_URL;
  const standIn = given ? undefined : await startMongoStandIn();
  const server = new URL(given ?? standIn?.url ?? "");
  server.pathname = `/rollcall_test_${randomBytes(6).toString("hex")}`;
  // The members of a replica set would be found under their own addresses, past the proxy.
  server.searchParams.set("directConnection", "true");
  const proxy = await startFaultProxy(server.href);
  const direct = new MongoClient(server.href);
  const empty = async () => {
    await direct.db().dropDatabase();
  };
  return {
    url: proxy.url(server.href),
    proxy,
    standIn,
    empty,
    async stop() {
      await empty();
      await direct.close();
      await proxy.stop();
      await standIn?.stop();
    },
  };
}
