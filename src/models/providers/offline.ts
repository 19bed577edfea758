import type { ModelProvider } from "./provider.ts";

/** No model: `offline/echo` gives the message back, for samples, demos and tests. */
export const offline: ModelProvider = {
  protocol: "offline",
  requires: "nothing",
  hint: "offline/echo is built in: it is no model and gives the message back.",
  models: ["echo"],
};
