import { onTestFinished } from "vitest";
import { type ChatSetup, startWithChat } from "./chat-setup.ts";
import { type ModelSimulator, startModelSimulator } from "./model-simulator.ts";

export interface ChatWithModel extends ChatSetup {
  model: ModelSimulator;
  /** Has the newest run's model say something more in its first step, as a model that streams does. */
  say(text: string, runId?: string): Promise<void>;
}

/** A chat whose one agent, unless others are given, has a scripted model. */
export async function startWithModel(
  setup: Parameters<typeof startWithChat>[0] = {},
): Promise<ChatWithModel> {
  const model = await startModelSimulator();
  onTestFinished(() => model.close());
  const chat = await startWithChat({
    agents: { smart: { labels: ["chat"], model: "openai-compatible/any", retries: 0 } },
    ...setup,
    env: { OPENAI_COMPATIBLE_BASE_URL: `${model.origin}/v1`, ...setup.env },
  });
  // Behind whatever the run itself has told by then.
  let seq = 10_000;
  return {
    ...chat,
    model,
    async say(text, runId) {
      const { db } = chat.app;
      const id = runId ?? (await chat.runs()).at(-1)?.id;
      const begun = () => db.read("run_events").where({ run_id: id, type: "step.started" }).first();
      // Events are stored a moment after they happen.
      for (let tries = 0; !(await begun()); tries++) {
        if (tries > 500) throw new Error(`The run ${id} has begun no step.`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const { attempt, data } = await begun();
      const delta = JSON.stringify({ ...JSON.parse(data), text });
      const row = { run_id: id, attempt, seq: ++seq, type: "text.delta", data: delta, at: Date.now() };
      await db.transaction((tx) => tx("run_events").insert(row));
    },
  };
}
