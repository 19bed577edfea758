import { Webhooks } from "@octokit/webhooks";
import { encodePayload, type KeepDeps, keepDelivery } from "../deliveries/index.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import type { Hook, HookRequest } from "../platform/http/index.ts";
import { deliveryJobKind } from "./work-off.ts";

export interface ReceiveDeps extends KeepDeps {
  workspaceId: string;
  /** The webhook secret of the GitHub App. */
  secret: string;
}

/** GitHub sends nothing larger. */
const maxBytes = 25 * 1024 * 1024;

/**
 * Compressed size of one delivery. The driver for MySQL doubles it, and servers take statements of 16 MiB; what
 * GitHub writes shrinks to a tenth, so that no delivery of its own comes near.
 */
const maxStoredBytes = 7 * 1024 * 1024;

/** Anything but these is no delivery, and names end up in the database and the log. */
const eventShape = /^[a-z][a-z0-9_]{0,99}$/;
const idShape = /^[\w-]{1,100}$/;
const signatureShape = /^sha256=[0-9a-f]{64}$/;

/**
 * `POST /api/github/webhooks`: verifies, stores and answers. A 202 means that the delivery and the job that works
 * it off are on disk; one that is there already is answered alike. Probot's own middleware is not used: it has no
 * limit for bodies, parses before it answers, and cannot say 503.
 */
export function githubHook(deps: ReceiveDeps): Hook {
  const webhooks = new Webhooks({ secret: deps.secret });
  return {
    path: "/api/github/webhooks",
    maxBytes,
    async handle(request) {
      const { id, event, signature } = readHeaders(request);
      const bytes = await request.bytes();
      // Decoding would replace what is no UTF-8, and then the signature does not fit.
      const text = bytes.toString("utf8");
      if (text === "" || !(await webhooks.verify(text, signature))) throw notSigned();
      await storeDelivery(deps, id, event, bytes);
      return { status: 202, body: { ok: true } };
    },
  };
}

function readHeaders({ header }: HookRequest): { id: string; event: string; signature: string } {
  const [type = ""] = (header("content-type") ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/json" || header("content-encoding") !== undefined) {
    throw new AppError(415, "Set the webhook's content type to application/json; nothing else is taken.");
  }
  const [event = "", id = ""] = [header("x-github-event"), header("x-github-delivery")];
  if (!eventShape.test(event) || !idShape.test(id)) {
    throw badRequest("Send X-GitHub-Event and X-GitHub-Delivery as GitHub does.");
  }
  const signature = header("x-hub-signature-256") ?? "";
  if (!signatureShape.test(signature)) throw notSigned();
  return { id, event, signature };
}

/** One text for every reason. */
const notSigned = () =>
  new AppError(
    401,
    "The signature does not fit; set the same secret at the GitHub App and in WEBHOOK_SECRET.",
  );

async function storeDelivery(
  deps: ReceiveDeps,
  externalId: string,
  event: string,
  bytes: Buffer,
): Promise<void> {
  const stored = await encodePayload(bytes);
  if (stored.payload.length > maxStoredBytes) {
    throw new AppError(413, "The delivery stays too large when it is compressed; send less.");
  }
  await keepDelivery(deps, {
    workspace_id: deps.workspaceId,
    source: "github",
    external_id: externalId,
    sender_id: null,
    ref: null,
    event,
    stored,
    next: { kind: deliveryJobKind },
  });
}
