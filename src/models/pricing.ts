import { calcPrice } from "@pydantic/genai-prices";
import type { ModelConnection, TokenUsage } from "./types.ts";

/**
 * List price in US dollars of one model call's tokens at an instant (default now), from the price list that
 * comes with the package: nothing is ever fetched. Cached input tokens are priced as such.
 *
 * Null means unknown: the model is not in the list, or runs on a server whose prices nobody knows
 * (`openai-compatible`, `ollama`). The offline echo costs 0.
 *
 * Pass the usage of one call and add up the results: some models are dearer above so many tokens a call, so
 * the price of a sum is not the sum of the prices.
 */
export function costUsd(model: ModelConnection, usage: TokenUsage, at = new Date()): number | null {
  switch (model.protocol) {
    case "offline":
      return 0;
    case "openai-compatible":
      return null;
    case "openai":
    case "anthropic":
    case "google":
      return listPrice(model.protocol, model.modelId, usage, at);
  }
}

function listPrice(providerId: string, modelId: string, usage: TokenUsage, timestamp: Date): number | null {
  try {
    const price = calcPrice(
      {
        input_tokens: usage.input,
        // The list refuses more cached tokens than tokens, which some gateways report.
        cache_read_tokens: Math.min(usage.cached, usage.input),
        output_tokens: usage.output,
      },
      modelId,
      { providerId, timestamp },
    );
    return price === null ? null : Math.round(price.total_price * 1e12) / 1e12;
  } catch {
    // An entry that cannot price these kinds of tokens is as good as none; a wrong price would be worse.
    return null;
  }
}
