import { z } from "zod";
import type { Database } from "../platform/db/index.ts";
import { forbidden } from "../platform/errors.ts";
import { type Actor, atLeast, defineEndpoint, type Endpoint, Page, toPage } from "../platform/http/index.ts";
import type { ApiKeys, KeyRef } from "./api-keys.ts";
import { ApiKeyRecord, IdPath, KeyName, Login } from "./schema.ts";

const tag = "API keys";

/** Each member's own keys; a workspace admin manages those of all. */
export function keyEndpoints({ db, apiKeys }: { db: Database; apiKeys: ApiKeys }): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/api-keys",
      id: "listApiKeys",
      tag,
      role: "viewer",
      summary: "The caller's keys, newest first; for a workspace admin those of all members.",
      query: Page.extend({ member: Login.describe("Only this member's keys.").optional() }),
      status: 200,
      response: z.strictObject({ apiKeys: z.array(ApiKeyRecord), nextBefore: z.string().nullable() }),
      async handle({ actor, query }) {
        const member = isAdmin(actor) ? query.member : ownLogin(actor, query.member);
        const filter = { member, before: query.before, limit: query.limit + 1 };
        const records = await apiKeys.list(db.read, actor.workspaceId, filter);
        const { page, nextBefore } = toPage(records, query.limit);
        return { apiKeys: page, nextBefore };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/api-keys",
      id: "createApiKey",
      tag,
      role: "viewer",
      summary: "Makes a key and shows it this once; a workspace admin may make one for another member.",
      body: z.strictObject({ name: KeyName, member: Login.optional() }),
      revealsSecret: true,
      status: 201,
      response: z.strictObject({ apiKey: ApiKeyRecord, key: z.string() }),
      handle: ({ actor, body, write }) =>
        write.transaction(async (tx) => {
          const member = isAdmin(actor) ? (body.member ?? actor.login) : ownLogin(actor, body.member);
          const answer = await apiKeys.create(tx, {
            workspaceId: actor.workspaceId,
            member,
            name: body.name,
          });
          return { answer, target: answer.apiKey.id, details: { member, name: body.name } };
        }),
    }),
    ...changes(apiKeys),
  ];
}

function changes(apiKeys: ApiKeys): Endpoint[] {
  return [
    defineEndpoint({
      method: "PATCH",
      path: "/api-keys/{id}",
      id: "updateApiKey",
      tag,
      role: "viewer",
      summary: "Disables or enables a key, from its next request on.",
      params: IdPath,
      body: z.strictObject({ enabled: z.boolean() }),
      status: 200,
      response: z.strictObject({ apiKey: ApiKeyRecord }),
      handle: ({ actor, params, body: { enabled }, write }) =>
        write.transaction(async (tx) => {
          const apiKey = await apiKeys.setEnabled(tx, reachable(actor, params.id), enabled);
          return { answer: { apiKey }, target: apiKey.id, details: { member: apiKey.member, enabled } };
        }),
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/api-keys/{id}",
      id: "revokeApiKey",
      tag,
      role: "viewer",
      summary: "Revokes a key for good.",
      params: IdPath,
      status: 204,
      response: z.undefined(),
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => {
          const apiKey = await apiKeys.revoke(tx, reachable(actor, params.id));
          return { answer: undefined, target: apiKey.id, details: { member: apiKey.member } };
        }),
    }),
  ];
}

const isAdmin = (actor: Actor) => atLeast(actor.role, "workspace_admin");

function ownLogin(actor: Actor, asked: string | undefined): string {
  if (asked === undefined || asked === actor.login) return actor.login;
  throw forbidden("Only a workspace admin manages the keys of other members; ask one.");
}

/** Keys of others do not exist for whoever may not manage them. */
function reachable(actor: Actor, id: string): KeyRef {
  return { workspaceId: actor.workspaceId, id, member: isAdmin(actor) ? undefined : actor.login };
}
