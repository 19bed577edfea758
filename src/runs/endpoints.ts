import { z } from "zod";
import { defineEndpoint, defineStream, type Endpoint, toPage } from "../platform/http/index.ts";
import type { Budgets } from "./budgets.ts";
import { presentRun } from "./present.ts";
import { BudgetReport, CreateRun, GetRun, ListRuns, Run, RunId } from "./schema.ts";
import type { Runs } from "./service.ts";

/** What was spent and what may be. */
export function budgetEndpoints(budgets: Pick<Budgets, "report">): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/budgets",
      id: "getBudgets",
      tag: "Runs",
      role: "viewer",
      summary: "Caps on what runs cost, and what was spent",
      status: 200,
      response: z.object({ budgets: BudgetReport }),
      handle: async ({ actor }) => ({ budgets: await budgets.report(actor.workspaceId) }),
    }),
  ];
}

export function runEndpoints(runs: Runs): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/runs",
      id: "createRun",
      tag: "Runs",
      role: "operator",
      summary: "Queue a run of an agent",
      body: CreateRun,
      status: 202,
      response: z.object({ run_id: z.string() }),
      async handle({ actor, body, write }) {
        const { id, rows, committed } = await runs.prepare(actor, body);
        return write.insert({
          answer: { run_id: id },
          target: id,
          details: { agent: body.agent },
          rows,
          committed,
        });
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/runs",
      id: "listRuns",
      tag: "Runs",
      role: "viewer",
      summary: "Runs, newest first",
      query: ListRuns,
      status: 200,
      response: z.object({ runs: z.array(Run), nextBefore: z.string().nullable() }),
      async handle({ actor, query }) {
        const { page, nextBefore } = toPage(await runs.list(actor.workspaceId, query), query.limit);
        return { runs: page.map((row) => presentRun(row, actor.role)), nextBefore };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/runs/{id}",
      id: "getRun",
      tag: "Runs",
      role: "viewer",
      summary: "One run; with wait, once it has ended",
      params: RunId,
      query: GetRun,
      status: 200,
      response: z.object({ run: Run }),
      async handle({ actor, params, query, signal }) {
        const run = await runs.waitFor(actor.workspaceId, params.id, query.wait ?? 0, signal);
        return { run: presentRun(run, actor.role) };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/runs/{id}/cancel",
      id: "cancelRun",
      tag: "Runs",
      role: "operator",
      summary: "Stop a run",
      params: RunId,
      status: 200,
      response: z.object({ run: Run }),
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => {
          const run = await runs.cancel(tx, actor.workspaceId, params.id);
          return { answer: { run: presentRun(run, actor.role) }, target: run.id };
        }),
    }),
    defineStream({
      method: "GET",
      path: "/runs/{id}/events",
      id: "streamRunEvents",
      tag: "Runs",
      role: "viewer",
      summary: "The run's trace as server-sent events, until it has ended",
      params: RunId,
      handle: ({ actor, params, lastEventId, signal }) =>
        runs.trace(actor.workspaceId, params.id, lastEventId, signal),
    }),
  ];
}
