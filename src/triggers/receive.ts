import { randomBytes } from "node:crypto";
import { encodePayload, type KeepDeps, keepDelivery } from "../deliveries/index.ts";
import type { IntegrationEvent } from "../integrations/index.ts";
import { createBatchLoader } from "../platform/batch-loader.ts";
import { type Database, toJson } from "../platform/db/index.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import type { Hook, HookAnswer } from "../platform/http/index.ts";
import { shortLine } from "../platform/short-line.ts";
import { findWorkspace, type Workspace } from "../workspaces/index.ts";
import { dispatchJobKind } from "./dispatch-job.ts";
import type { ProviderOf } from "./provider.ts";

export interface ReceiveDeps extends KeepDeps {
  providerOf: ProviderOf;
}

const maxBytes = 1024 * 1024;

/** What a workspace without a secret is checked with, so that its answer takes as long as any. */
const nobodysSecret = randomBytes(32).toString("base64");

const accepted: HookAnswer = { status: 202, body: { ok: true } };

/**
 * Takes a provider's events: signature over the raw bytes → 202. The 202 means that the event and the job that works
 * it off are on disk; one that is there already, by the sender's id, is answered alike. Kept is what was read from the
 * body and not the body: some events describe accounts, with parts of their credentials.
 */
export function integrationHook(deps: ReceiveDeps): Hook {
  const { db, clock, providerOf } = deps;
  const workspaceOf = createBatchLoader((slugs: readonly string[]) => loadWorkspaces(db, slugs));
  return {
    path: "/api/hooks/integration/{workspace}",
    maxBytes,
    async handle({ params: { workspace: slug = "" }, header, bytes }) {
      const body = await bytes();
      const workspace = await workspaceOf(slug);
      const { provider, webhookSecret } = await providerOf(workspace?.id ?? "");
      const verdict = provider.verify({ header, body }, webhookSecret ?? nobodysSecret, clock());
      if (!workspace || webhookSecret === undefined || !verdict.ok) throw notSigned();
      // The sender's id is a part of a key that has a length.
      if (!/^[\x21-\x7e]{1,150}$/.test(verdict.deliveryId))
        throw badRequest("Use a webhook-id of 1 to 150 printable characters.");
      await storeEvent(deps, workspace, provider.parse(verdict.deliveryId, body));
      return accepted;
    },
  };
}

/** One text for every reason. */
const notSigned = () =>
  new AppError(
    401,
    "The signature does not fit, or is too old; set the provider's webhook secret in the workspace settings.",
  );

async function loadWorkspaces(db: Database, slugs: readonly string[]): Promise<Map<string, Workspace>> {
  const found = await Promise.all(slugs.map((slug) => findWorkspace(db.read, { slug })));
  return new Map(found.flatMap((workspace) => (workspace ? [[workspace.slug, workspace] as const] : [])));
}

async function storeEvent(deps: KeepDeps, { id }: Workspace, event: IntegrationEvent): Promise<void> {
  await keepDelivery(deps, {
    workspace_id: id,
    source: "integration",
    // Ids of one workspace's provider must not stand in the way of another's.
    external_id: `${id}/${event.id}`,
    sender_id: event.id,
    ref: null,
    event: shortLine(event.triggerSlug ?? event.type ?? "", 100) || "unknown",
    stored: await encodePayload(Buffer.from(toJson(event))),
    next: { kind: dispatchJobKind, payload: { workspaceId: id } },
  });
}
