import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import {
  AgentChange,
  ChangeId,
  CreateAgentChange,
  GetAgentChange,
  ListAgentChanges,
  NewAgentChange,
} from "./schema.ts";
import type { AgentChanges } from "./service.ts";

const tag = "Agent changes";

export function agentChangeEndpoints(changes: AgentChanges): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/agent-changes",
      id: "createAgentChange",
      tag,
      role: "operator",
      summary: "Have an agent written or changed from a description",
      body: CreateAgentChange,
      status: 202,
      response: NewAgentChange,
      handle: ({ actor, body, write }) => changes.request(actor, body, write),
    }),
    defineEndpoint({
      method: "GET",
      path: "/agent-changes",
      id: "listAgentChanges",
      tag,
      role: "viewer",
      summary: "Agent changes, newest first",
      query: ListAgentChanges,
      status: 200,
      response: z.object({ agentChanges: z.array(AgentChange), nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => changes.list(actor.workspaceId, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/agent-changes/{task_id}",
      id: "getAgentChange",
      tag,
      role: "viewer",
      summary: "One agent change; with wait, once it has ended",
      params: ChangeId,
      query: GetAgentChange,
      status: 200,
      response: z.object({ agentChange: AgentChange }),
      handle: async ({ actor, params, query, signal }) => ({
        agentChange: await changes.waitFor(actor.workspaceId, params.task_id, query.wait ?? 0, signal),
      }),
    }),
  ];
}
