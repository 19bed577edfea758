import { createTestRepository, type TestFile } from "../test/support/git-repository.ts";
import type { Engine } from "./engines.ts";
import { get } from "./load.ts";
import { startServer } from "./server.ts";
import { type Figure, median } from "./table.ts";

const agents = 2_000;
const commits = 5;

const specOf = (number: number, revision: number) => `name: agent-${number}
framework: ai-sdk
description: Answers questions about area ${number} of the handbook, revision ${revision}.
model: offline/echo
labels: [area-${number % 20}]
instructions: |
${"  Answer from the handbook alone, say where in it the answer stands, and say so when it does not know.\n".repeat(8)}`;

/** A cold sync of 2,000 agents, and commits that touch one of them. */
export async function measureCatalog(engine: Engine, script: string): Promise<Figure[]> {
  const repository = await createTestRepository();
  const files: Record<string, TestFile> = {};
  for (let number = 0; number < agents; number++)
    files[`agents/ai-sdk/agent-${number}.yaml`] = specOf(number, 0);
  await repository.commit(files);
  const env = { ...(await engine.fresh()), ROLLCALL_REPOSITORY: repository.gitdir, LOG_LEVEL: "info" };
  const startedAt = performance.now();
  const server = await startServer(script, ["start"], env);
  const coldMs = performance.now() - startedAt;
  const syncs: number[] = [];
  const visible: number[] = [];
  try {
    for (let revision = 1; revision <= commits; revision++) {
      files["agents/ai-sdk/agent-7.yaml"] = specOf(7, revision);
      const synced = server.nextLine(/"files":1,"removed":0,"ms":(\d+),"msg":"catalog synced"/);
      await repository.commit(files);
      const committedAt = performance.now();
      syncs.push(Number((await synced)[1]));
      await get(`${server.url}/api/v1/agents/agent-7`);
      visible.push(performance.now() - committedAt);
    }
  } finally {
    await server.stop();
    await repository.remove();
  }
  return [
    {
      what: `start with ${agents} agents that were never seen, until ready`,
      engine: engine.name,
      measured: `${(coldMs / 1_000).toFixed(1)} s`,
      target: "< 10 s",
      met: coldMs < 10_000,
    },
    {
      what: `sync of a commit that touches one of them (visible after ${Math.round(median(visible))} ms, looking each 500 ms)`,
      engine: engine.name,
      measured: `${median(syncs)} ms (${syncs.join(", ")})`,
      target: "< 300 ms",
      met: median(syncs) < 300,
    },
  ];
}
