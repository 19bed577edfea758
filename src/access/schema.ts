import { z } from "zod";
import { Instant, line, type Role, roles } from "../platform/http/index.ts";

/** A member's name: as GitHub has them, with dots and underscores. Compared exactly, letter case included. */
export const Login = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    "Use 1 to 63 letters, digits, dots, underscores and hyphens, the first a letter or digit.",
  );

export const MemberRole = z.enum(roles, `Use one of ${roles.join(", ")}.`);
export type MemberRole = Role;

/** What people call a key. */
export const KeyName = line(100);

/** Path of a record that has an id made by the service. */
export const IdPath = z.strictObject({ id: z.string().regex(/^[\w-]{1,40}$/, "This is not an id.") });

export const MemberRecord = z.strictObject({
  login: z.string(),
  role: MemberRole,
  createdAt: Instant,
});
export type MemberRecord = z.infer<typeof MemberRecord>;

/** Path of what concerns one member. */
export const MemberPath = z.strictObject({ login: Login });

/** Something that acts in a member's name. */
export const Owned = z
  .strictObject({
    id: z.string(),
    agent: z.string().nullable().describe("Null for what starts several agents."),
    label: z.string().describe("What people know it by: its name, its schedule, its event."),
    enabled: z.boolean(),
  })
  .meta({ id: "Owned" });
export type Owned = z.infer<typeof Owned>;

export const ApiKeyRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  member: z.string(),
  /** The first characters of the key. */
  preview: z.string(),
  enabled: z.boolean(),
  createdAt: Instant,
  /** Exact to the minute. */
  lastUsedAt: Instant.nullable(),
  revokedAt: Instant.nullable(),
  /** When its member was removed; such a key never works again. */
  orphanedAt: Instant.nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const AuditRecord = z.strictObject({
  id: z.string(),
  at: Instant,
  actor: z.string(),
  via: z.enum(["api", "cli", "system"]),
  action: z.string(),
  target: z.string(),
  details: z.record(z.string(), z.unknown()).nullable(),
  requestId: z.string().nullable(),
});
export type AuditRecord = z.infer<typeof AuditRecord>;
