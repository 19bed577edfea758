import { z } from "zod";
import { toInstant } from "./clock.ts";
import { defineEndpoint, type Endpoint, Instant, Page, toPage } from "./http/index.ts";
import type { JobQueue } from "./jobs/index.ts";

const DeadJob = z
  .object({
    id: z.string(),
    kind: z.string(),
    attempts: z.int(),
    error: z.string().nullable(),
    createdAt: Instant,
  })
  .meta({ id: "DeadJob" });

/** Work that was given up: listed, and tried again on request. */
export function jobEndpoints(queue: JobQueue): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/jobs",
      id: "listDeadJobs",
      tag: "Management",
      role: "workspace_admin",
      summary: "Jobs that are dead after their last try, newest first",
      query: Page,
      status: 200,
      response: z.object({ jobs: z.array(DeadJob), nextBefore: z.string().nullable() }),
      async handle({ query }) {
        const { page, nextBefore } = toPage(await queue.listDead(query.limit + 1, query.before), query.limit);
        const jobs = page.map(({ id, kind, attempt, error, created_at }) => ({
          id,
          kind,
          attempts: attempt,
          error,
          createdAt: toInstant(created_at),
        }));
        return { jobs, nextBefore };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/jobs/{id}/retry",
      id: "retryDeadJob",
      tag: "Management",
      role: "workspace_admin",
      summary: "Queue a dead job again",
      params: z.strictObject({ id: z.string().max(64) }),
      status: 202,
      response: z.object({ id: z.string() }),
      handle: ({ params, write }) =>
        write.transaction(async (tx) => {
          await queue.retryDead(tx, params.id);
          return { answer: { id: params.id }, target: params.id };
        }),
    }),
  ];
}
