export { type Access, type AccessDeps, createAccess } from "./access.ts";
export type { ApiKeys } from "./api-keys.ts";
export type { SystemAuditEntry } from "./audit.ts";
export type { Members } from "./members.ts";
export { holdOwner, requireMayName, requireOwn } from "./owners.ts";
export type { OwnedKind } from "./ownerships.ts";
export { type ApiKeyRecord, KeyName, Login, type MemberRecord, MemberRole } from "./schema.ts";
