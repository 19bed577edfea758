import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { parseSpec } from "./parse-spec.ts";
import { Agent, AgentWithSpec, Catalog, GetAgent, ListAgents, ValidateAgent, Validation } from "./schema.ts";
import type { Agents } from "./service.ts";

export function agentEndpoints(agents: Agents): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/agents",
      id: "listAgents",
      tag: "Agents",
      role: "viewer",
      summary: "The agents of the connected repository, valid and invalid, by name",
      query: ListAgents,
      status: 200,
      response: z.object({ agents: z.array(Agent), catalog: Catalog, nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => agents.list(actor, query.limit, query.before),
    }),
    defineEndpoint({
      method: "GET",
      path: "/agents/{name}",
      id: "getAgent",
      tag: "Agents",
      role: "viewer",
      summary: "One agent with the text of its spec",
      params: GetAgent,
      status: 200,
      response: z.object({ agent: AgentWithSpec }),
      handle: async ({ actor, params }) => ({ agent: await agents.get(actor, params.name) }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/agents/validate",
      id: "validateAgent",
      tag: "Agents",
      role: "viewer",
      summary: "Check a spec without saving anything",
      body: ValidateAgent,
      status: 200,
      response: Validation,
      async handle({ body: { content, format } }) {
        const result = parseSpec({ content, format }, agents.schemas);
        const { name, framework } = result.spec ?? result;
        return { valid: result.spec !== undefined, framework, name, format, problems: result.problems };
      },
    }),
  ];
}
