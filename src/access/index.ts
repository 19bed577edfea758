export { type Access, createAccess } from "./access.ts";
export type { SystemAuditEntry } from "./audit.ts";
export type { Members } from "./members.ts";
export { holdOwner, requireMayName, requireOwn } from "./owners.ts";
export type { OwnedKind } from "./ownerships.ts";
export { type ApiKeyRecord, KeyName, Login, MemberRole } from "./schema.ts";
