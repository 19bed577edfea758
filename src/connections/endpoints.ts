import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { Connection, Tool } from "./schema.ts";
import type { Connections } from "./service.ts";

export function connectionEndpoints(connections: Connections): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/tools",
      id: "listTools",
      tag: "Tools",
      role: "viewer",
      summary: "The caller's tool catalog",
      status: 200,
      response: z.object({ tools: z.array(Tool) }),
      handle: async ({ actor }) => ({ tools: await connections.tools(actor) }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/connections",
      id: "listConnections",
      tag: "Tools",
      role: "viewer",
      summary: "Which toolkits the caller has authorised",
      status: 200,
      response: z.object({ connections: z.array(Connection) }),
      handle: async ({ actor }) => ({ connections: await connections.connections(actor) }),
    }),
  ];
}
