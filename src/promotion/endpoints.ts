import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { AgentName, ListVersions, Promote, Promoted, Version } from "./schema.ts";
import type { Promotion } from "./service.ts";

const tag = "Agents";

export function promotionEndpoints(promotion: Promotion): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/agents/{name}/promote",
      id: "promoteAgent",
      tag,
      role: "operator",
      summary: "Make the draft, once its evals have passed, or an earlier snapshot the stable version",
      params: AgentName,
      body: Promote,
      status: 200,
      response: Promoted,
      handle({ actor, params, body: { version }, write }) {
        const request = { actor, agent: params.name, write };
        return version === "draft" ? promotion.promoteDraft(request) : promotion.rollBack(request, version);
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/agents/{name}/versions",
      id: "listAgentVersions",
      tag,
      role: "viewer",
      summary: "The numbered snapshots of an agent, newest first",
      params: AgentName,
      query: ListVersions,
      status: 200,
      response: z.object({ versions: z.array(Version), nextBefore: z.string().nullable() }),
      handle: ({ actor, params, query }) =>
        promotion.list(actor.workspaceId, params.name, query.limit, query.before),
    }),
  ];
}
