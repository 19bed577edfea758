import type { ToolUser } from "../ports.ts";

/**
 * The provider's name for a member. It is made of nothing that can change, the workspace's id and the login
 * as it is compared, and is kept nowhere: a member who comes back finds their accounts. Changing how it is
 * made would cut everybody off from theirs. A login has no colon, so no two members share one.
 */
export const providerUserId = ({ workspaceId, login }: ToolUser): string =>
  `rollcall:${workspaceId}:${login}`;

/** The login in a provider's name for a member of this workspace; undefined for anybody else's. */
export function loginOf(workspaceId: string, userId: string): string | undefined {
  const prefix = `rollcall:${workspaceId}:`;
  return userId.startsWith(prefix) && userId.length > prefix.length ? userId.slice(prefix.length) : undefined;
}
