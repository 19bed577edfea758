export type { StoreState } from "./store-health.ts";
export { createWakeUps, type WakeUps } from "./wake-ups.ts";
