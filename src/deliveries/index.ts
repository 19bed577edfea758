export { deliveryEndpoints } from "./endpoints.ts";
export { type KeepDeps, keepDelivery } from "./keep.ts";
export { encodePayload } from "./payload.ts";
export type { Replayer, Replayers } from "./ports.ts";
export {
  type DeliveryRow,
  deliveryPrefix,
  deliveryRow,
  failDelivery,
  findEvent,
  forgetOldDeliveries,
  readPayload,
  reopenDelivery,
  sameDelivery,
  settleDelivery,
} from "./store.ts";
