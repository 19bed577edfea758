import { z } from "zod";
import type { Database } from "../platform/db/index.ts";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import type { Handover } from "./handover.ts";
import type { OwnedKind } from "./ownerships.ts";
import { Login, MemberPath, Owned } from "./schema.ts";

const tag = "Members";

const Removal = z
  .strictObject({
    automations: z
      .enum(["pause", "reassign"])
      .default("pause")
      .describe("What becomes of everything that the member owns, webhooks and triggers too."),
    to: Login.optional().describe("Who gets it, with reassign: a member with the role operator or more."),
  })
  .refine(({ automations, to }) => automations !== "reassign" || to !== undefined, {
    path: ["to"],
    message: "Name the member who gets what is reassigned.",
  })
  .refine(({ automations, to }) => automations === "reassign" || to === undefined, {
    path: ["to"],
    message: "Leave this out, or reassign.",
  });

/** What members own, and how it passes to others; for workspace admins. */
export function handoverEndpoints(deps: {
  db: Database;
  handover: Handover;
  kinds: readonly OwnedKind[];
}): Endpoint[] {
  const { db, handover, kinds } = deps;
  const ofKinds = Object.fromEntries(kinds.map(({ kind }) => [kind, z.array(Owned)]));
  const Handed = z.strictObject({ from: z.string(), to: z.string(), dryRun: z.boolean(), ...ofKinds });

  return [
    defineEndpoint({
      method: "DELETE",
      path: "/members/{login}",
      id: "removeMember",
      tag,
      role: "workspace_admin",
      summary: "Removes a member, ends their API keys for good, and stops or reassigns what they own.",
      params: MemberPath,
      query: Removal,
      status: 204,
      response: z.undefined(),
      handle: ({ actor: { workspaceId }, params: { login }, query: { automations, to }, write }) =>
        write.transaction(async (tx) => {
          const { details } = await handover.remove(tx, { workspaceId, login, to });
          return { answer: undefined, target: login, details: { automations, ...details } };
        }),
    }),
    defineEndpoint({
      method: "GET",
      path: "/members/{login}/ownerships",
      id: "listOwnerships",
      tag,
      role: "workspace_admin",
      summary: "What acts in a member's name, and how many API keys work for them.",
      params: MemberPath,
      status: 200,
      response: z.strictObject({ ownerships: z.strictObject({ ...ofKinds, apiKeys: z.int() }) }),
      handle: async ({ actor, params: { login } }) => ({
        ownerships: await handover.ownerships(db.read, actor.workspaceId, login),
      }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/members/{login}/handover",
      id: "handOver",
      tag,
      role: "workspace_admin",
      summary: "Gives everything that a member owns to another one; a dry run only tells what that is.",
      params: MemberPath,
      body: z.strictObject({ to: Login, dryRun: z.boolean().default(false) }),
      status: 200,
      response: z.strictObject({ handover: Handed }),
      async handle({ actor: { workspaceId }, params: { login: from }, body: { to, dryRun }, write }) {
        if (dryRun) {
          const owned = await handover.preview(db.read, workspaceId, from, to);
          return { handover: { from, to, dryRun, ...owned } };
        }
        return write.transaction(async (tx) => {
          const { owned, counts } = await handover.handOver(tx, workspaceId, from, to);
          const answer = { handover: { from, to, dryRun, ...owned } };
          return { answer, target: from, details: { to, reassigned: counts } };
        });
      },
    }),
  ];
}
