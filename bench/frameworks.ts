import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadFramework } from "../src/frameworks/index.ts";
import { encodeStream } from "../test/support/model-streams.ts";
import { bareLibraries, tool } from "./bare-libraries.ts";
import { frameworkRun } from "./framework-run.ts";
import { type Figure, median } from "./table.ts";

const runs = 400;
const warmUp = 60;

/**
 * What the framework layer adds to a run of two model calls with a tool between them: run for run in turn with
 * the library called bare, in the same process, on the same simulated model that answers at once.
 */
export async function measureFrameworks(): Promise<Figure[]> {
  const model = await startModel();
  const figures: Figure[] = [];
  try {
    for (const [id, prepare] of Object.entries(bareLibraries)) {
      const bare = await prepare(model.url);
      const execute = await loadFramework(id);
      const layer = () => execute(frameworkRun(id, model.url));
      const took = { bare: [] as number[], layer: [] as number[] };
      for (let index = 0; index < runs + warmUp; index++) {
        for (const [name, work] of [
          ["bare", bare],
          ["layer", layer],
        ] as const) {
          const startedAt = performance.now();
          await work();
          if (index >= warmUp) took[name].push(performance.now() - startedAt);
        }
      }
      figures.push(figureOf(id, took));
    }
  } finally {
    await model.close();
  }
  return figures;
}

function figureOf(id: string, took: { bare: readonly number[]; layer: readonly number[] }): Figure {
  const bare = median(took.bare);
  const layer = median(took.layer);
  const added = layer - bare;
  return {
    what: `${id}: a run with a tool, beside the library called bare, ${runs} of each in turn`,
    engine: "",
    measured: `${layer.toFixed(2)} ms, bare ${bare.toFixed(2)} ms: ${added.toFixed(2)} ms more, ratio ${(layer / bare).toFixed(2)}`,
    target: "< 5 ms more",
    met: added < 5,
  };
}

/** A server of streamed chat completions: a call of the tool first, an answer once it has a tool's result. */
async function startModel() {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const asked = JSON.parse(Buffer.concat(chunks).toString());
    const isAnswer = asked.messages.at(-1).role === "tool";
    const call = { toolCalls: [{ name: tool.slug, args: { city: "Oslo" } }] };
    const { body, end } = encodeStream("chat-completions", isAnswer ? { text: "Sunny." } : call, asked);
    response.setHeader("content-type", "text/event-stream").end([...body, ...end].join(""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
