import type { Agent, FunctionTool, Handoff, Model, ModelRequest } from "@openai/agents";
import { createModelCaller, type ModelCaller } from "../model-call/model-caller.ts";
import { createSessionRunner, messageOf, type Session, systemText } from "../model-call/session.ts";
import type { Steps } from "../model-call/steps.ts";
import { createToolCaller, type ToolCaller } from "../model-call/tool-calls.ts";
import type { FrameworkDeps, FrameworkRunner, RunTool } from "../types.ts";
import { type Calls, createCalls } from "./calls.ts";
import { outputItems, promptOf } from "./items.ts";
import { importLibrary } from "./library.ts";
import { gatherTeam, type Member } from "./team.ts";

type Library = Awaited<ReturnType<typeof importLibrary>>;

/** Executes runs with the library's `Runner`. See `Framework.load` for how runs fail. */
export async function createRunner(deps: FrameworkDeps): Promise<FrameworkRunner> {
  const library = await importLibrary();
  return createSessionRunner(
    deps,
    (session) => generate(library, session),
    () => true,
  );
}

/** An agent of the run as the library sees it, with what its model and tools are called through. */
interface Player {
  agent: Agent;
  steps: Steps;
  callModel: ModelCaller;
  callTool: ToolCaller;
}

async function generate(library: Library, session: Session): Promise<string> {
  const { run } = session;
  const calls = createCalls();
  const team = await gatherTeam(run);
  const players = new Map<string, Player>();
  for (const [name, member] of team)
    players.set(name, await createPlayer(library, { session, calls, isAlone: team.size === 1 }, member));
  connect(library, session, team, players);
  const first = playerOf(players, run.spec.name);
  const runner = new library.Runner({
    modelProvider: { getModel: (name) => createModel(library, playerOf(players, name), calls) },
    tracingDisabled: true,
    traceIncludeSensitiveData: false,
    toolNotFoundBehavior: "return_error_to_model",
    toolErrorFormatter: ({ callId }) => calls.make(callId),
  });
  // The step limit of the spec holds before each model call; the library's own would come after.
  const options = { signal: run.signal, maxTurns: null };
  const { finalOutput } = await runner.run(first.agent, messageOf(run), options);
  session.steps.end();
  return finalOutput ?? "";
}

async function createPlayer(
  { Agent }: Library,
  { session, calls, isAlone }: { session: Session; calls: Calls; isAlone: boolean },
  { spec, model, tools }: Member,
): Promise<Player> {
  const steps = session.steps.strand(isAlone ? {} : { agent: spec.name });
  return {
    steps,
    callTool: createToolCaller(tools, { session, steps }),
    callModel: await createModelCaller({ session, steps, spec, model }),
    agent: new Agent({
      name: spec.name,
      instructions: systemText(spec.instructions, session.run),
      handoffDescription: spec.description ?? "",
      model: spec.name,
      modelSettings: {},
      tools: tools.map((tool) => functionTool(tool, calls)),
    }),
  };
}

/** Arguments are checked here, not by the library, so that every framework tells models the same. */
function functionTool({ slug, description, inputSchema }: RunTool, calls: Calls): FunctionTool {
  return {
    type: "function",
    name: slug,
    description,
    parameters: inputSchema as FunctionTool["parameters"],
    strict: false,
    needsApproval: async () => false,
    isEnabled: async () => true,
    invoke: async (_context, _arguments, details) => calls.make(details?.toolCall?.callId ?? ""),
  };
}

/** Gives the agents their handoffs, once all of them exist: they may lead back to where a run came from. */
function connect(
  library: Library,
  { run }: Session,
  team: ReadonlyMap<string, Member>,
  players: ReadonlyMap<string, Player>,
): void {
  for (const [name, { handoffs }] of team) {
    const { agent, steps } = playerOf(players, name);
    agent.handoffs = handoffs.map((to, index): Handoff => {
      const onHandoff = () => {
        run.emit({ type: "handoff", ...steps.current(), to });
        steps.end();
      };
      const { agent: next } = playerOf(players, to);
      return library.handoff(next, { onHandoff, toolNameOverride: handoffTool(to, index) });
    });
  }
}

/** Names of functions have 64 characters at most; those of agents alone may have 63. */
function handoffTool(name: string, index: number): string {
  const tool = `transfer_to_${name.replaceAll("-", "_")}`;
  return tool.length <= 64 ? tool : `${tool.slice(0, 62)}_${index}`;
}

function createModel({ Usage }: Library, { callModel, callTool }: Player, calls: Calls): Model {
  return {
    async getResponse(request) {
      const prompt = promptOf(request.systemInstructions, request.input);
      const answer = await callModel(prompt, functionsOf(request));
      const output = outputItems(answer, (call) => calls.keep(call, callTool));
      // Tokens are counted by the metered model.
      return { usage: new Usage(), output };
    },
    // biome-ignore lint/correctness/useYield: the library is given whole answers
    async *getStreamedResponse() {
      throw new Error("Libraries are given whole answers.");
    },
  };
}

function functionsOf({ tools, handoffs }: ModelRequest) {
  return [
    ...tools.flatMap((tool) =>
      tool.type === "function"
        ? [{ slug: tool.name, description: tool.description, inputSchema: tool.parameters }]
        : [],
    ),
    ...handoffs.map(({ toolName, toolDescription, inputJsonSchema }) => ({
      slug: toolName,
      description: toolDescription,
      inputSchema: inputJsonSchema,
    })),
  ];
}

function playerOf(players: ReadonlyMap<string, Player>, name: string | undefined): Player {
  const player = players.get(name ?? "");
  if (!player) throw new Error(`No agent ${name} takes part in this run.`);
  return player;
}
