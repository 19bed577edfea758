import { z } from "zod";
import { defineEndpoint, type Endpoint, Page } from "../platform/http/index.ts";
import type { Management } from "./manage.ts";
import { AppManifest, ChangeChatApp, ChatApp, ChatAppId, CreateChatApp, InstallLink } from "./schema.ts";

const tag = "Chat apps";
const ChatAppAnswer = z.object({ chatApp: ChatApp });

export function chatAppEndpoints(chatApps: Management): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/chat-apps",
      id: "listChatApps",
      tag,
      role: "viewer",
      summary: "Bots of chat platforms, newest first",
      query: Page,
      status: 200,
      response: z.object({ chatApps: z.array(ChatApp), nextBefore: z.string().nullable() }),
      handle: ({ actor, query }) => chatApps.list(actor, query),
    }),
    defineEndpoint({
      method: "GET",
      path: "/chat-apps/{id}",
      id: "getChatApp",
      tag,
      role: "viewer",
      summary: "One chat app, without its secrets",
      params: ChatAppId,
      status: 200,
      response: ChatAppAnswer,
      handle: async ({ actor, params }) => ({ chatApp: await chatApps.get(actor, params.id) }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/chat-apps/{id}/manifest",
      id: "getChatAppManifest",
      tag,
      role: "viewer",
      summary: "What an admin pastes at the platform to make the app there",
      params: ChatAppId,
      status: 200,
      response: AppManifest,
      handle: ({ actor, params }) => chatApps.manifest(actor, params.id),
    }),
    ...changes(chatApps),
  ];
}

function changes(chatApps: Management): Endpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/chat-apps",
      id: "createChatApp",
      tag,
      role: "workspace_admin",
      summary: "Make a chat app. It answers nobody before it is installed at its platform.",
      body: CreateChatApp,
      status: 201,
      response: ChatAppAnswer,
      handle: ({ actor, body, write }) =>
        write.transaction(async (tx) => {
          const chatApp = await chatApps.create(tx, actor, body);
          return { answer: { chatApp }, target: chatApp.id, details: withoutSecrets(body) };
        }),
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/chat-apps/{id}",
      id: "updateChatApp",
      tag,
      role: "workspace_admin",
      summary: "Change a chat app; with another client id it has to be installed again.",
      params: ChatAppId,
      body: ChangeChatApp,
      status: 200,
      response: ChatAppAnswer,
      handle: ({ actor, params, body, write }) =>
        write.transaction(async (tx) => {
          const chatApp = await chatApps.change(tx, actor, params.id, body);
          return { answer: { chatApp }, target: chatApp.id, details: withoutSecrets(body) };
        }),
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/chat-apps/{id}",
      id: "deleteChatApp",
      tag,
      role: "workspace_admin",
      summary: "Delete a chat app for good and have its platform take the installation back; its runs stay.",
      params: ChatAppId,
      status: 204,
      response: z.undefined(),
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => {
          const { id, name, platform } = await chatApps.remove(tx, actor, params.id);
          return { answer: undefined, target: id, details: { name, platform } };
        }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/chat-apps/{id}/install-link",
      id: "linkChatAppInstallation",
      tag,
      role: "workspace_admin",
      summary: "Make an address that installs the chat app at its platform, once and within 15 minutes.",
      params: ChatAppId,
      revealsSecret: true,
      status: 201,
      response: InstallLink,
      handle: ({ actor, params, write }) =>
        write.transaction(async (tx) => ({
          answer: await chatApps.installLink(tx, actor, params.id),
          target: params.id,
        })),
    }),
  ];
}

/** For the audit log: which secrets were set, and not what to. */
function withoutSecrets({ secrets, ...visible }: CreateChatApp | ChangeChatApp): Record<string, unknown> {
  return { ...visible, ...(secrets === undefined ? {} : { secrets: Object.keys(secrets) }) };
}
