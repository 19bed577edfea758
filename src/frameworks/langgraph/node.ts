import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { ModelConnection } from "../../models/index.ts";
import { RunFailure } from "../failure.ts";
import { createModelCaller } from "../model-call/model-caller.ts";
import { messageOf, type Session, systemText } from "../model-call/session.ts";
import type { Steps } from "../model-call/steps.ts";
import { createChatModel } from "./chat-model.ts";
import type { Graph, GraphNode } from "./graph-schema.ts";
import { inOrder, type Progress } from "./progress.ts";
import { createReact } from "./react.ts";

type Work = (state: Progress, config: LangGraphRunnableConfig) => Promise<Partial<Progress>>;

interface NodeOptions {
  node: GraphNode;
  graph: Graph;
  session: Session;
  steps: Steps;
  model: ModelConnection;
}

/** What the library executes for one node. Throws RunFailure when the node's model cannot be called. */
export async function createNode(node: GraphNode, graph: Graph, session: Session): Promise<Work> {
  const { run } = session;
  const steps = session.steps.strand({ node: node.name });
  const model = await modelOf(node, session);
  const options = { node, graph, session, steps, model };
  const work = node.kind === "route" ? await createRoute(options) : await createAgent(options);
  return async (state, config) => {
    try {
      return await work(state, config);
    } catch (error) {
      // Nodes that go on at the same time are stopped, too.
      if (!run.signal.aborted) session.fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      steps.end();
    }
  };
}

async function modelOf({ model, name }: GraphNode, { run }: Session): Promise<ModelConnection> {
  if (model === undefined || model === run.model.ref) return run.model;
  if (run.reach) return run.reach.model(model);
  throw new RunFailure("invalid_spec", `${name} cannot have a model of its own in a run of this kind.`);
}

async function createAgent({ node, graph, session, steps, model }: NodeOptions): Promise<Work> {
  const { run } = session;
  const tools = run.tools.filter(({ slug }) => node.connections?.includes(slug) ?? true);
  const react = await createReact({ session, steps, model, tools });
  return async ({ Answers }, config) => {
    const messages = conversation(instructionsOf(node, session), { graph, session, model, Answers });
    const text = await react(messages, config);
    return { Answers: { [node.name]: { text, round: Number(config.metadata?.langgraph_step) } } };
  };
}

/** Asks until the model names an edge; the step limit of the run bounds it. */
async function createRoute({ node, graph, session, steps, model }: NodeOptions): Promise<Work> {
  const { run } = session;
  const { spec } = run;
  const edges = graph.edges.filter(({ from }) => from === node.name);
  const names = edges.map(({ to }) => to);
  const choices = edges.map(({ to, when }) => (when === undefined ? `- ${to}` : `- ${to}: ${when}`));
  const task = `Choose what is next. Answer with one of these names and nothing else:\n${choices.join("\n")}`;
  const chatModel = createChatModel(await createModelCaller({ session, steps, spec, model }), []);
  return async ({ Answers }, config) => {
    const instructions = `${instructionsOf(node, session)}\n\n${task}`;
    const messages = conversation(instructions, { graph, session, model, Answers });
    for (;;) {
      const answer = await chatModel.invoke(messages, config);
      const to = chosen(answer.text, names);
      if (to !== undefined) {
        run.emit({ type: "route", ...steps.current(), to });
        return { Choices: { [node.name]: to } };
      }
      const again = `That is none of the names. Answer with one of these and nothing else: ${names.join(", ")}`;
      messages.push(answer, new HumanMessage(again));
    }
  };
}

/** The name that a model's answer is, or the only one that occurs in it. */
export function chosen(answer: string, names: readonly string[]): string | undefined {
  const words: string[] = answer.toLowerCase().match(/[a-z0-9_-]+/g) ?? [];
  const found = names.filter((name) => words.includes(name));
  return found.length === 1 ? found[0] : undefined;
}

function instructionsOf({ instructions }: GraphNode, { run }: Session): string {
  return instructions === undefined ? run.spec.instructions : `${run.spec.instructions}\n\n${instructions}`;
}

interface Situation {
  graph: Graph;
  session: Session;
  model: ModelConnection;
  Answers: Progress["Answers"];
}

/** The run's message and what other nodes made of it, as one message: some models refuse several in a row. */
function conversation(instructions: string, situation: Situation): BaseMessage[] {
  const { graph, session, model, Answers } = situation;
  const answers = inOrder(graph, Answers).map(({ name, text }) => `## ${name}\n\n${text}`);
  const message = messageOf({ ...session.run, model });
  const known = answers.length === 0 ? [] : ["What the steps before came to:", ...answers];
  return [
    new SystemMessage(systemText(instructions, session.run)),
    new HumanMessage([message, ...known].join("\n\n")),
  ];
}
