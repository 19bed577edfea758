import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeStream } from "../test/support/model-streams.ts";
import type { Engine } from "./engines.ts";
import { get } from "./load.ts";
import { adminKey, startServer } from "./server.ts";
import { type Figure, median } from "./table.ts";

const modelMs = 200;
const cases = 20;
const suites = 15;

interface Suite {
  status: string;
  cases: { durationMs: number }[];
}

/** A suite of 20 cases whose model takes 200 ms, from the request to the end that a waiting client sees. */
export async function measureEvals(engine: Engine, script: string): Promise<Figure[]> {
  const model = await startModel();
  const env = { ...(await engine.fresh()), OPENAI_COMPATIBLE_BASE_URL: `${model.url}/v1` };
  const server = await startServer(script, ["start"], env);
  const totals: number[] = [];
  const overheads: number[] = [];
  try {
    for (let index = 0; index < suites + 2; index++) {
      const startedAt = performance.now();
      const id = await postSuite(server.url);
      const suite = (await get<{ eval: Suite }>(`${server.url}/api/v1/evals/${id}?wait=30`)).eval;
      const tookMs = performance.now() - startedAt;
      if (suite.status !== "passed") throw new Error(`The suite ${id} has ${suite.status}.`);
      // The first suites load the framework and start the threads of the checks.
      if (index < 2) continue;
      totals.push(Math.round(tookMs));
      overheads.push(Math.round(tookMs - Math.max(...suite.cases.map((each) => each.durationMs))));
    }
  } finally {
    await server.stop();
    await model.close();
  }
  const worst = (values: readonly number[]) => Math.max(...values);
  return [
    {
      what: `suite of ${cases} cases, model of ${modelMs} ms, from the request to the end`,
      engine: engine.name,
      measured: `${median(totals)} ms (worst ${worst(totals)})`,
      target: "< 600 ms",
      met: worst(totals) < 600,
    },
    {
      what: "the same beyond its slowest case",
      engine: engine.name,
      measured: `${median(overheads)} ms (worst ${worst(overheads)})`,
      target: "< 100 ms",
      met: median(overheads) < 100,
    },
  ];
}

async function postSuite(url: string): Promise<string> {
  const spec = {
    name: "bench",
    framework: "ai-sdk",
    model: "openai-compatible/bench",
    instructions: "Answer.",
  };
  const file = {
    cases: Array.from({ length: cases }, (_, index) => ({
      name: `case ${index}`,
      input: `Question ${index}`,
      assert: { contains: "answer", regex: "^The \\w+\\.$", max_chars: 100 },
    })),
  };
  const response = await fetch(`${url}/api/v1/evals`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ agent: "bench", spec: JSON.stringify(spec), eval: JSON.stringify(file) }),
  });
  if (response.status !== 202) throw new Error(await response.text());
  return ((await response.json()) as { eval_id: string }).eval_id;
}

/** A model server that thinks for as long as it was told and always says the same. */
async function startModel() {
  const { body, end } = encodeStream("chat-completions", { text: "The answer." });
  const answer = [...body, ...end].join("");
  const server = createServer((request, response) => {
    request.resume().on("end", async () => {
      await sleep(modelMs);
      response.writeHead(200, { "content-type": "text/event-stream" }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
