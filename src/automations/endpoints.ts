import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import {
  Automation,
  AutomationId,
  ChangeAutomation,
  CreateAutomation,
  Fire,
  ListAutomations,
  ListFires,
  PreviewSchedule,
  SchedulePreview,
} from "./schema.ts";
import type { Automations } from "./service.ts";

const tag = "Automations";
const AutomationAnswer = z.object({ automation: Automation });
const NextBefore = z.string().nullable();

export function automationEndpoints(automations: Automations): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/automations",
      id: "listAutomations",
      tag,
      role: "viewer",
      summary: "Automations, newest first",
      query: ListAutomations,
      status: 200,
      response: z.object({ automations: z.array(Automation), nextBefore: NextBefore }),
      handle: ({ actor, query }) => automations.list(actor.workspaceId, query),
    }),
    defineEndpoint({
      method: "POST",
      path: "/automations",
      id: "createAutomation",
      tag,
      role: "operator",
      summary: "Run an agent on a schedule",
      body: CreateAutomation,
      status: 201,
      response: AutomationAnswer,
      handle: ({ actor, body, write }) =>
        write.transaction(async (tx) => {
          const automation = await automations.create(tx, actor, body);
          const { id, agent, schedule, timezone, owner } = automation;
          return { answer: { automation }, target: id, details: { agent, schedule, timezone, owner } };
        }),
    }),
    // Before the address with an id, which it would be one of otherwise.
    defineEndpoint({
      method: "GET",
      path: "/automations/preview",
      id: "previewSchedule",
      tag,
      role: "viewer",
      summary: "When a schedule would fire next",
      query: PreviewSchedule,
      status: 200,
      response: SchedulePreview,
      handle: async ({ query }) => automations.preview(query.schedule, query.timezone),
    }),
    ...oneAutomation(automations),
  ];
}

function oneAutomation(automations: Automations): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/automations/{id}",
      id: "getAutomation",
      tag,
      role: "viewer",
      summary: "One automation",
      params: AutomationId,
      status: 200,
      response: AutomationAnswer,
      handle: async ({ actor, params }) => ({
        automation: await automations.get(actor.workspaceId, params.id),
      }),
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/automations/{id}",
      id: "changeAutomation",
      tag,
      role: "operator",
      summary: "Change an automation; an Error stays until a run could be queued",
      params: AutomationId,
      body: ChangeAutomation,
      status: 200,
      response: AutomationAnswer,
      handle: ({ actor, params: { id }, body, write }) =>
        write.transaction(async (tx) => {
          const automation = await automations.change(tx, actor, id, body);
          const { message: _, ...details } = body;
          return { answer: { automation }, target: id, details };
        }),
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/automations/{id}",
      id: "deleteAutomation",
      tag,
      role: "operator",
      summary: "Delete an automation and its fires; its runs stay",
      params: AutomationId,
      status: 204,
      response: z.undefined(),
      handle: ({ actor, params: { id }, write }) =>
        write.transaction(async (tx) => {
          await automations.remove(tx, actor, id);
          return { answer: undefined, target: id };
        }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/automations/{id}/fires",
      id: "listFires",
      tag,
      role: "viewer",
      summary: "What became of the occurrences of its schedule, latest first",
      params: AutomationId,
      query: ListFires,
      status: 200,
      response: z.object({ fires: z.array(Fire), nextBefore: NextBefore }),
      handle: ({ actor, params, query }) => automations.fires(actor.workspaceId, params.id, query),
    }),
    defineEndpoint({
      method: "POST",
      path: "/automations/{id}/run",
      id: "runAutomation",
      tag,
      role: "operator",
      summary: "Queue a run of an automation now, as its owner",
      params: AutomationId,
      status: 202,
      response: z.object({ run_id: z.string() }),
      async handle({ actor, params: { id }, write }) {
        const commit = await automations.prepareRun(actor, id);
        return write.transaction(async (tx) => {
          const { runId } = await commit(tx);
          return { answer: { run_id: runId }, target: id, details: { run: runId } };
        });
      },
    }),
  ];
}
