import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import { SettingsChange, SettingsRecord } from "./schema.ts";
import type { Settings } from "./settings.ts";

const SettingsAnswer = z.strictObject({ settings: SettingsRecord });

/** What a workspace admin sets for all members. */
export function settingsEndpoints(settings: Settings): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/settings",
      id: "getSettings",
      tag: "Settings",
      role: "workspace_admin",
      summary: "The workspace's settings; secrets are only said to be set or not.",
      status: 200,
      response: SettingsAnswer,
      handle: async ({ actor }) => ({ settings: await settings.describe(actor.workspaceId) }),
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/settings",
      id: "updateSettings",
      tag: "Settings",
      role: "workspace_admin",
      summary: "Changes what is given and keeps the rest; null removes a value.",
      body: SettingsChange,
      status: 200,
      response: SettingsAnswer,
      async handle({ actor: { workspaceId }, body, write }) {
        await write.transaction(async (tx) => {
          const { set, removed } = await settings.change(tx, workspaceId, body);
          return { answer: undefined, target: "settings", details: { set, removed } };
        });
        return { settings: await settings.describe(workspaceId) };
      },
    }),
  ];
}
