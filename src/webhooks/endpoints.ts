import { z } from "zod";
import { defineEndpoint, type Endpoint, Page } from "../platform/http/index.ts";
import type { Management } from "./manage.ts";
import {
  AgentName,
  ChangeWebhook,
  CreateWebhook,
  RotateWebhook,
  Webhook,
  WebhookId,
  WebhookWithSecrets,
} from "./schema.ts";

const tag = "Webhooks";
const WebhookAnswer = z.object({ webhook: Webhook });

export function webhookEndpoints(webhooks: Management): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/agents/{name}/webhooks",
      id: "createWebhook",
      tag,
      role: "operator",
      summary: "Make an address that starts runs of the agent; its token is shown this once.",
      params: AgentName,
      body: CreateWebhook,
      revealsSecret: true,
      status: 201,
      response: WebhookWithSecrets,
      handle: ({ actor, params, body, write }) =>
        write.transaction(async (tx) => {
          const answer = await webhooks.create(tx, actor, params.name, body);
          const { id, agent, name, owner, tools, signed } = answer.webhook;
          return { answer, target: id, details: { agent, name, owner, tools, signed } };
        }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/agents/{name}/webhooks",
      id: "listWebhooks",
      tag,
      role: "viewer",
      summary: "The agent's external webhooks, newest first",
      params: AgentName,
      query: Page,
      status: 200,
      response: z.object({ webhooks: z.array(Webhook), nextBefore: z.string().nullable() }),
      handle: ({ actor, params, query }) => webhooks.list(actor, params.name, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/webhooks/{id}",
      id: "getWebhook",
      tag,
      role: "viewer",
      summary: "One external webhook",
      params: WebhookId,
      status: 200,
      response: WebhookAnswer,
      handle: async ({ actor, params }) => ({ webhook: await webhooks.get(actor, params.id) }),
    }),
    ...changes(webhooks),
  ];
}

function changes(webhooks: Management): Endpoint[] {
  return [
    defineEndpoint({
      method: "PATCH",
      path: "/webhooks/{id}",
      id: "updateWebhook",
      tag,
      role: "operator",
      summary: "Change a webhook of one's own; a workspace admin changes any.",
      params: WebhookId,
      body: ChangeWebhook,
      status: 200,
      response: WebhookAnswer,
      handle: ({ actor, params, body, write }) =>
        write.transaction(async (tx) => {
          const webhook = await webhooks.change(tx, actor, params.id, body);
          const { signingSecret, ...visible } = body;
          const secret = signingSecret === undefined ? {} : { signed: webhook.signed };
          return { answer: { webhook }, target: webhook.id, details: { ...visible, ...secret } };
        }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/webhooks/{id}/rotate",
      id: "rotateWebhook",
      tag,
      role: "operator",
      summary: "Replace the token, the signing secret or both; the ones before stop at once.",
      params: WebhookId,
      query: RotateWebhook,
      revealsSecret: true,
      status: 200,
      response: WebhookWithSecrets,
      handle: ({ actor, params, query, write }) =>
        write.transaction(async (tx) => {
          const answer = await webhooks.rotate(tx, actor, params.id, query);
          return { answer, target: params.id, details: { secret: query.secret } };
        }),
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/webhooks/{id}",
      id: "deleteWebhook",
      tag,
      role: "operator",
      summary: "Delete a webhook for good; its runs and deliveries stay.",
      params: WebhookId,
      status: 204,
      response: z.undefined(),
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => {
          const { id, agent, name } = await webhooks.remove(tx, actor, params.id);
          return { answer: undefined, target: id, details: { agent, name } };
        }),
    }),
  ];
}
