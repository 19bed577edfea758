export { promotionEndpoints } from "./endpoints.ts";
export type { NewestVerdict } from "./gate.ts";
export { createPromotion } from "./service.ts";
