/** Roles from the weakest to the strongest. */
export const roles = ["viewer", "operator", "workspace_admin"] as const;
export type Role = (typeof roles)[number];

export function atLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Who a request acts as. The role is what it was when the request came in. */
export interface Actor {
  workspaceId: string;
  login: string;
  role: Role;
  keyId: string;
}
