/** Epoch milliseconds of this process. Leases use the database's clock instead; see platform/jobs. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** Instants leave the service as RFC 3339 in UTC; null stays null. */
export function toInstant(ms: number): string;
export function toInstant(ms: number | null): string | null;
export function toInstant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** 00:00 UTC of the day that holds the instant. */
export function startOfDay(ms: number): number {
  return ms - (ms % 86_400_000);
}
