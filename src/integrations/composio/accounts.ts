import { IntegrationFailure } from "../failure.ts";
import type { AccountStatus, IntegrationAccount, IntegrationClient } from "../ports.ts";
import { allPages } from "./paging.ts";
import type { ComposioRequest } from "./request.ts";
import { authConfigs } from "./tools.ts";
import { AccountPage, Link, type WireAccount } from "./wire.ts";

const pageSize = 100;

/** Links are good for ten minutes; used when Composio's own word cannot be read. */
const linkLifeMs = 10 * 60_000;

const statuses: Readonly<Record<string, AccountStatus>> = {
  INITIALIZING: "pending",
  INITIATED: "pending",
  ACTIVE: "active",
  FAILED: "failed",
  EXPIRED: "expired",
  INACTIVE: "revoked",
  REVOKED: "revoked",
};

export function composioAccounts(
  request: ComposioRequest,
  clock: () => number,
): Pick<IntegrationClient, "accounts" | "account" | "link"> {
  const list = (filter: Record<string, string>, signal: AbortSignal | undefined) =>
    allPages((cursor) =>
      request({
        method: "GET",
        path: "/connected_accounts",
        query: { ...filter, limit: pageSize, cursor },
        answer: AccountPage,
        signal,
      }),
    );

  return {
    async accounts(userId, signal) {
      const items = await list({ user_ids: userId, order_by: "created_at", order_direction: "desc" }, signal);
      // A filter that a release forgets would hand over other people's accounts.
      return items.filter(({ user_id }) => !user_id || user_id === userId).map(toAccount);
    },
    async account(id, signal) {
      const items = await list({ connected_account_ids: id }, signal);
      const found = items.find((item) => item.id === id);
      return found && { ...toAccount(found), userId: found.user_id ?? null };
    },
    async link({ toolkit, userId }, signal) {
      const [config] = await authConfigs(request, toolkit, signal);
      if (!config)
        throw new IntegrationFailure("not_found", `Composio has no auth config for the toolkit ${toolkit}.`);
      const { redirect_url, expires_at, connected_account_id } = await request({
        method: "POST",
        path: "/connected_accounts/link",
        body: { auth_config_id: config.id, user_id: userId },
        answer: Link,
        signal,
      });
      const expiresAt = Date.parse(expires_at);
      return {
        url: redirect_url,
        expiresAt: Number.isNaN(expiresAt) ? clock() + linkLifeMs : expiresAt,
        accountId: connected_account_id,
      };
    },
  };
}

function toAccount({ id, toolkit, status, is_disabled, auth_config }: WireAccount): IntegrationAccount {
  const known = statuses[status] ?? "failed";
  const switchedOff = is_disabled === true || auth_config?.is_disabled === true;
  return {
    id,
    toolkit: toolkit.slug,
    status: known === "active" && switchedOff ? "revoked" : known,
    providerStatus: status.slice(0, 40),
  };
}
