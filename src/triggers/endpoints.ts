import { z } from "zod";
import { defineEndpoint, type Endpoint, Page } from "../platform/http/index.ts";
import type { Management } from "./manage.ts";
import {
  AgentName,
  ChangeTrigger,
  CreateTrigger,
  ListTriggerTypes,
  Trigger,
  TriggerId,
  TriggerType,
} from "./schema.ts";
import type { createTriggerTypes } from "./trigger-types.ts";

const tag = "Triggers";
const TriggerAnswer = z.object({ trigger: Trigger });

export function triggerEndpoints(
  triggers: Management,
  listTypes: ReturnType<typeof createTriggerTypes>,
): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/trigger-types",
      id: "listTriggerTypes",
      tag,
      role: "viewer",
      summary: "Events that triggers can be made for",
      query: ListTriggerTypes,
      status: 200,
      response: z.object({ triggerTypes: z.array(TriggerType), warnings: z.array(z.string()).optional() }),
      handle: ({ actor, query }) => listTypes(actor, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/agents/{name}/triggers",
      id: "listTriggers",
      tag,
      role: "viewer",
      summary: "The agent's event triggers, newest first",
      params: AgentName,
      query: Page,
      status: 200,
      response: z.object({ triggers: z.array(Trigger), nextBefore: z.string().nullable() }),
      handle: ({ actor, params, query }) => triggers.list(actor, params.name, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/triggers/{id}",
      id: "getTrigger",
      tag,
      role: "viewer",
      summary: "One event trigger",
      params: TriggerId,
      status: 200,
      response: TriggerAnswer,
      handle: async ({ actor, params }) => ({ trigger: await triggers.get(actor, params.id) }),
    }),
    ...changes(triggers),
  ];
}

function changes(triggers: Management): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/agents/{name}/triggers",
      id: "createTrigger",
      tag,
      role: "operator",
      summary: "Have events of a connection start runs of the agent, as the member whose connection it is.",
      params: AgentName,
      body: CreateTrigger,
      status: 201,
      response: TriggerAnswer,
      async handle({ actor, params, body, write, signal }) {
        const checked = await triggers.checkNew(actor, params.name, body, signal);
        const { trigger } = await write.transaction(async (tx) => {
          const made = await triggers.create(tx, actor, params.name, body, checked);
          const { id, agent, slug, connection, owner, tools, enabled } = made;
          const details = { agent, slug, connection, owner, tools, enabled };
          return { answer: { trigger: made }, target: id, details };
        });
        return { trigger: await triggers.settled(actor, trigger, signal) };
      },
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/triggers/{id}",
      id: "updateTrigger",
      tag,
      role: "operator",
      summary: "Change a trigger of one's own; enabling it subscribes anew. A workspace admin changes any.",
      params: TriggerId,
      body: ChangeTrigger,
      status: 200,
      response: TriggerAnswer,
      async handle({ actor, params, body, write, signal }) {
        const ready = await triggers.checkChange(actor, params.id, body, signal);
        const { trigger } = await write.transaction(async (tx) => {
          const changed = await triggers.change(tx, actor, params.id, body, ready);
          const { config, ...visible } = body;
          const details = { ...visible, owner: changed.owner, ...(config ? { config: "changed" } : {}) };
          return { answer: { trigger: changed }, target: changed.id, details };
        });
        return { trigger: await triggers.settled(actor, trigger, signal) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/triggers/{id}",
      id: "deleteTrigger",
      tag,
      role: "operator",
      summary: "Delete a trigger for good; the provider is told, its runs and deliveries stay.",
      params: TriggerId,
      status: 204,
      response: z.undefined(),
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => {
          const { id, agent, slug } = await triggers.remove(tx, actor, params.id);
          return { answer: undefined, target: id, details: { agent, slug } };
        }),
    }),
  ];
}
