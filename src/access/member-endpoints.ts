import { z } from "zod";
import type { Database } from "../platform/db/index.ts";
import { defineEndpoint, type Endpoint } from "../platform/http/index.ts";
import type { Members } from "./members.ts";
import { Login, MemberPath, MemberRecord, MemberRole } from "./schema.ts";

const tag = "Members";
const MemberAnswer = z.strictObject({ member: MemberRecord });

/** Who belongs to the workspace; for its admins. */
export function memberEndpoints({ db, members }: { db: Database; members: Members }): Endpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/members",
      id: "listMembers",
      tag,
      role: "workspace_admin",
      summary: "All members with their roles, by login.",
      status: 200,
      response: z.strictObject({ members: z.array(MemberRecord) }),
      handle: async ({ actor }) => ({ members: await members.list(db.read, actor.workspaceId) }),
    }),
    defineEndpoint({
      method: "POST",
      path: "/members",
      id: "addMember",
      tag,
      role: "workspace_admin",
      summary: "Adds a member. Keys that the login had as an earlier member stay dead.",
      body: z.strictObject({ login: Login, role: MemberRole }),
      status: 201,
      response: MemberAnswer,
      handle: ({ actor, body, write }) =>
        write.transaction(async (tx) => {
          const member = await members.add(tx, { ...body, workspaceId: actor.workspaceId });
          return { answer: { member }, target: member.login, details: { role: member.role } };
        }),
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/members/{login}",
      id: "changeMemberRole",
      tag,
      role: "workspace_admin",
      summary: "Changes a member's role, which counts from the member's next request on.",
      params: MemberPath,
      body: z.strictObject({ role: MemberRole }),
      status: 200,
      response: MemberAnswer,
      handle: ({ actor, params: { login }, body: { role }, write }) =>
        write.transaction(async (tx) => {
          const { workspaceId } = actor;
          const { member, before } = await members.changeRole(tx, { workspaceId, login, role });
          return { answer: { member }, target: login, details: { role, before } };
        }),
    }),
  ];
}
