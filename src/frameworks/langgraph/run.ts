import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { createSessionRunner, messageOf, type Session, systemText } from "../model-call/session.ts";
import type { FrameworkDeps, FrameworkRunner } from "../types.ts";
import { runGraph } from "./graph.ts";
import { quietCallbacks } from "./quiet.ts";
import { createReact } from "./react.ts";
import { LanggraphSpec } from "./spec.ts";

/** Executes runs with graphs of LangGraph. See `Framework.load` for how runs fail. */
export function createRunner(deps: FrameworkDeps): FrameworkRunner {
  return createSessionRunner(deps, generate, () => true);
}

async function generate(session: Session): Promise<string> {
  const { run } = session;
  const { instructions, graph, parameters } = LanggraphSpec.parse(run.spec);
  const config = {
    signal: run.signal,
    callbacks: quietCallbacks(),
    // The step limit of the spec holds before each model call; between two there is at most one more node.
    recursionLimit: 2 * parameters.maxSteps + 10,
  };
  if (graph) return runGraph(graph, session, config);
  const { model, tools } = run;
  const react = await createReact({ session, steps: session.steps.strand(), model, tools });
  return react([new SystemMessage(systemText(instructions, run)), new HumanMessage(messageOf(run))], config);
}
