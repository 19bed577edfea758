import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { Dispatch, ListDispatches } from "./schema.ts";
import type { Dispatches } from "./service.ts";

export function dispatchEndpoints(dispatches: Dispatches): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/dispatches",
      id: "listDispatches",
      tag: "Automations",
      role: "viewer",
      summary: "What could not be started by a schedule, trigger or webhook, newest first",
      query: ListDispatches,
      status: 200,
      response: z.object({ dispatches: z.array(Dispatch), nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => dispatches.list(actor.workspaceId, actor.role, query),
    }),
  ];
}
