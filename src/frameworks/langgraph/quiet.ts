import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { ConsoleCallbackHandler } from "@langchain/core/tracers/console";

/** Takes the place of a handler of the library, by its name, and does nothing. */
class Placeholder extends BaseCallbackHandler {
  name: string;

  constructor(name: string) {
    super({
      ignoreLLM: true,
      ignoreChain: true,
      ignoreAgent: true,
      ignoreRetriever: true,
      ignoreCustomEvent: true,
    });
    this.name = name;
  }

  /** What the library asks its own tracer for; without a tree of runs nothing is traced. */
  getRunTreeWithTracingConfig(): undefined {
    return undefined;
  }
}

/**
 * Callbacks under which the library neither uploads runs to LangSmith nor prints them, whatever the variables
 * of the environment say: it adds its own handlers only where none of their names is there.
 */
export function quietCallbacks(): BaseCallbackHandler[] {
  return ["langchain_tracer", ConsoleCallbackHandler.prototype.name].map((name) => new Placeholder(name));
}
