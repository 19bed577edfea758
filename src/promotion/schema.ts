import { z } from "zod";
import { Instant, Limit } from "../platform/http/index.ts";

const SnapshotNumber = z.union([
  z.string().regex(/^[1-9]\d{0,8}$/, "Use draft or a number."),
  z.int().positive().max(999_999_999),
]);

export const AgentName = z.strictObject({ name: z.string().max(255) });

export const Promote = z.strictObject({
  version: z
    .union([z.literal("draft"), SnapshotNumber.transform(Number)])
    .default("draft")
    .describe("draft, through the gate; or the number of a snapshot to go back to, without it."),
});

export const ListVersions = z.strictObject({
  limit: Limit.describe("Versions on a page, 1 to 200."),
  before: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, "Use the nextBefore of the page before.")
    .transform(Number)
    .optional()
    .describe("The nextBefore of the page before."),
});

export const Version = z
  .object({
    number: z.int(),
    stable: z.boolean().describe("It is the one that runs unless another version is asked for."),
    framework: z.string(),
    specSha: z.string().describe("SHA-256 of the spec's text."),
    evalSha: z.string().nullable().describe("SHA-256 of the eval file's text; null when there was none."),
    commitSha: z.string().describe("Commit that the catalog showed when the snapshot was made."),
    createdAt: Instant,
    promotedBy: z.string().describe("Login of the member who made the snapshot."),
    evalId: z
      .string()
      .nullable()
      .describe("The passed suite that opened the gate; null when none was needed."),
  })
  .meta({ id: "Version" });
export type Version = z.infer<typeof Version>;

export const Promoted = z.object({
  agent: z.string(),
  version: Version,
  warning: z
    .string()
    .optional()
    .describe("Said of a draft that may be out of date, since the repository could not be read lately."),
});
export type Promoted = z.infer<typeof Promoted>;
