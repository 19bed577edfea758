import { z } from "zod";
import type { IntegrationClient } from "../../integrations/index.ts";
import type { ProviderDocument } from "../document-cache.ts";
import type { ToolUser } from "../ports.ts";
import type { DocumentKey } from "../store.ts";
import { providerUserId } from "./user-id.ts";

/** What the provider is asked with: the workspace's client, and a fingerprint of its key. */
export interface IntegrationSession {
  client: IntegrationClient;
  origin: string;
}

const minute = 60_000;

const KeptTool = z.object({
  slug: z.string(),
  toolkit: z.string(),
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  needsAccount: z.boolean(),
  version: z.string().optional(),
});
export type KeptTool = z.infer<typeof KeptTool>;

const KeptAccount = z.object({
  id: z.string(),
  toolkit: z.string(),
  status: z.enum(["active", "pending", "expired", "failed", "revoked"]),
  providerStatus: z.string(),
});
export type KeptAccount = z.infer<typeof KeptAccount>;

/** The documents that are kept of one provider. Tools are the same for all members, accounts are each member's. */
export function integrationDocuments(providerId: string) {
  const accountsKey = ({ workspaceId, login }: ToolUser): DocumentKey => ({
    workspaceId,
    kind: `${providerId}.accounts`,
    name: login,
  });
  return {
    accountsKey,
    toolkits: ({ client, origin }: IntegrationSession, workspaceId: string): ProviderDocument<string[]> => ({
      workspaceId,
      kind: `${providerId}.toolkits`,
      name: "all",
      origin,
      schema: z.array(z.string()),
      freshMs: 10 * minute,
      load: (signal) => client.toolkits(signal),
    }),
    tools: (
      { client, origin }: IntegrationSession,
      workspaceId: string,
      toolkit: string,
    ): ProviderDocument<KeptTool[]> => ({
      workspaceId,
      kind: `${providerId}.tools`,
      name: toolkit,
      origin,
      schema: z.array(KeptTool),
      freshMs: 10 * minute,
      load: (signal) => client.tools(toolkit, signal),
    }),
    accounts: ({ client, origin }: IntegrationSession, user: ToolUser): ProviderDocument<KeptAccount[]> => ({
      ...accountsKey(user),
      origin,
      schema: z.array(KeptAccount),
      freshMs: minute,
      load: (signal) => client.accounts(providerUserId(user), signal),
    }),
  };
}
