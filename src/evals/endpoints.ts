import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { CreateEval, EvalId, EvalSuite, EvalSuiteSummary, GetEval, ListEvals } from "./schema.ts";
import type { Evals } from "./service.ts";

export function evalEndpoints(evals: Evals): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/evals",
      id: "createEval",
      tag: "Evals",
      role: "operator",
      summary: "Queue an eval suite of an agent",
      body: CreateEval,
      status: 202,
      response: z.object({ eval_id: z.string() }),
      async handle({ actor, body, write }) {
        const suite = await evals.prepare(actor, body);
        const { rows, committed } = suite;
        const { agent, version = "draft", source } = body;
        const details = { agent, version, source };
        const written = { answer: { eval_id: suite.id }, target: suite.id, details };
        if (suite.status === "queued") return write.insert({ ...written, rows, committed });
        return write.transaction(async (tx) => {
          await evals.storeEnded(tx, actor.workspaceId, suite);
          return written;
        });
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/evals",
      id: "listEvals",
      tag: "Evals",
      role: "viewer",
      summary: "Eval suites of an agent, newest first",
      query: ListEvals,
      status: 200,
      response: z.object({ evals: z.array(EvalSuiteSummary), nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => evals.list(actor.workspaceId, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/evals/{id}",
      id: "getEval",
      tag: "Evals",
      role: "viewer",
      summary: "One eval suite with its cases; with wait, once it has ended",
      params: EvalId,
      query: GetEval,
      status: 200,
      response: z.object({ eval: EvalSuite }),
      handle: async ({ actor, params, query, signal }) => ({
        eval: await evals.waitFor(actor.workspaceId, params.id, query.wait ?? 0, signal),
      }),
    }),
  ];
}
