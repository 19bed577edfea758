import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import type { Approval } from "./approve.ts";
import { Approve, ListPullRequests, PullRequestHead, PullRequestNumber } from "./schema.ts";

interface PullRequestReads {
  list(
    workspaceId: string,
    filter: ListPullRequests,
  ): Promise<{ pullRequests: PullRequestHead[]; nextBefore: string | null }>;
  get(workspaceId: string, number: number | undefined): Promise<PullRequestHead>;
  approve(approval: Approval): Promise<PullRequestHead>;
}

const tag = "Pull requests";
const OnePullRequest = z.object({ pullRequest: PullRequestHead });

export function pullRequestEndpoints({ list, get, approve }: PullRequestReads): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/pull-requests",
      id: "listPullRequests",
      tag,
      role: "viewer",
      summary: "Heads of pull requests and merge groups with the agents that they change, newest first",
      query: ListPullRequests,
      status: 200,
      response: z.object({ pullRequests: z.array(PullRequestHead), nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => list(actor.workspaceId, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/pull-requests/{number}",
      id: "getPullRequest",
      tag,
      role: "viewer",
      summary: "A pull request's current head",
      params: PullRequestNumber,
      status: 200,
      response: OnePullRequest,
      handle: async ({ actor, params }) => ({ pullRequest: await get(actor.workspaceId, params.number) }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/pull-requests/{number}/approve",
      id: "approvePullRequest",
      tag,
      role: "operator",
      summary: "Let the evals of a commit from a fork run",
      params: PullRequestNumber,
      body: Approve,
      status: 200,
      response: OnePullRequest,
      handle: async ({ actor, params, body, write }) => ({
        pullRequest: await approve({ actor, number: params.number, headSha: body.headSha, write }),
      }),
    }),
  ];
}
