import { sha256 } from "../platform/secrets.ts";

/** What the provider keeps one subscription for. */
export interface Subscribed {
  workspaceId: string;
  connection: string;
  slug: string;
  config: Record<string, unknown>;
}

/** The same text for the same subscription, whatever the order of the config's keys. */
export function subscriptionKey({ workspaceId, connection, slug, config }: Subscribed): string {
  return sha256(JSON.stringify([workspaceId, connection, slug, sorted(config)]));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  // As a list of pairs: in an object, keys such as `__proto__` or `1` would not stay where they are put.
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { pairs: pairs.map(([key, part]) => [key, sorted(part)]) };
}
