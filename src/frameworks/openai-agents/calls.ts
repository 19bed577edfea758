import { modelOutput, type ToolCall, type ToolCaller } from "../model-call/tool-calls.ts";
import { encodeOutput } from "./items.ts";

/** The tool calls of one run, by ids of the run's own: models may use theirs again, the library may not. */
export interface Calls {
  /** Keeps a call until the library asks for it, and returns its id. */
  keep(call: ToolCall, callTool: ToolCaller): string;
  /** Makes the call of that id. Resolves to what the library is told that it came to. */
  make(id: string): Promise<string>;
}

export function createCalls(): Calls {
  const kept = new Map<string, () => Promise<string>>();
  let count = 0;

  return {
    keep(call, callTool) {
      count += 1;
      const id = `call-${count}`;
      kept.set(id, async () => encodeOutput(modelOutput(await callTool(call))));
      return id;
    },
    async make(id) {
      const call = kept.get(id);
      if (!call) throw new Error(`The model made no call ${id}.`);
      kept.delete(id);
      return call();
    },
  };
}
