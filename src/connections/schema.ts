import { z } from "zod";

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

export const Connection = z
  .object({
    source: z.string(),
    provider: z.string(),
    status: z.enum(["active", "pending", "expired", "failed", "revoked"]),
    connectUrl: z.string().nullable().describe("Where to authorise the toolkit."),
  })
  .meta({ id: "Connection" });
