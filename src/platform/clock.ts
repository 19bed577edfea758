/** Epoch milliseconds of this process. Leases use the database's clock instead; see platform/jobs. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Instants leave the service as RFC 3339 in UTC; null stays null. */
export function toInstant(ms: number): string;
export function toInstant(ms: number | null): string | null;
export function toInstant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
