export { dispatchEndpoints } from "./endpoints.ts";
export { createDispatches, type Dispatches, type DispatchFailure } from "./service.ts";
