import type { ModelConnection } from "../types.ts";

/** What a workspace or the environment holds for one provider. Blank strings count as absent. */
export interface ProviderKey {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
}

/** A place that models come from. Adding one is a file in this folder and a line in `registry.ts`. */
export interface ModelProvider {
  protocol: ModelConnection["protocol"];
  /** What has to be set before a model of this provider can be called; `nothing` for built-in ones. */
  requires: "apiKey" | "baseUrl" | "nothing";
  /** One sentence on how to configure the provider. */
  hint: string;
  /** Where the provider listens unless the workspace says otherwise. */
  defaultBaseUrl?: string;
  /** Added to a base URL that does not end with it, for servers whose address people write without it. */
  basePath?: string;
  /** The only models there are, for providers with a fixed list. */
  models?: readonly string[];
}
