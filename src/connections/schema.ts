import { z } from "zod";
import { Instant } from "../platform/http/index.ts";

export const Tool = z
  .object({
    source: z.string().describe("Where the tool comes from."),
    provider: z.string().describe("Toolkit that it belongs to."),
    slug: z.string().describe("Name it by this in a spec's connections."),
    name: z.string(),
    description: z.string(),
    inputSchema: z.record(z.string(), z.unknown()).describe("JSON Schema of the arguments."),
    needsConnection: z.boolean().describe("Whether the caller has to authorise the toolkit first."),
  })
  .meta({ id: "Tool" });

export const ListTools = z.strictObject({
  provider: z.string().max(100).optional().describe("Only tools of this toolkit."),
  search: z.string().max(100).optional().describe("Only tools with this in slug, name or description."),
});
export type ListTools = z.infer<typeof ListTools>;

export const ToolCatalog = z.object({
  tools: z.array(Tool),
  warnings: z
    .array(z.object({ source: z.string(), message: z.string() }))
    .optional()
    .describe("Which tools are left out, renamed or not up to date."),
});

export const Connection = z
  .object({
    id: z.string().nullable().describe("The provider's id of the account."),
    source: z.string(),
    provider: z.string(),
    status: z.enum(["active", "pending", "expired", "failed", "revoked"]),
    providerStatus: z.string().nullable().describe("The provider's own word for the status."),
    connectUrl: z
      .string()
      .nullable()
      .describe("POST to this address for a page where the toolkit is authorised (anew)."),
  })
  .meta({ id: "Connection" });

export const ToolkitPath = z.strictObject({
  toolkit: z.string().regex(/^[\w.-]{1,100}$/, "This is not the name of a toolkit."),
});

export const LinkRecord = z.object({
  url: z.string().describe("Page where the caller authorises the toolkit; good for one use."),
  expiresAt: Instant,
});
