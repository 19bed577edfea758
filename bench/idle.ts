import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "./server.ts";
import type { Figure } from "./table.ts";

const settleMs = 5_000;
const watchMs = 20_000;
const ticksPerSecond = 100;

/** Memory and processor time of a process that has nothing to do, and how long it takes to be ready. */
export async function measureIdle(script: string): Promise<Figure[]> {
  const startedAt = performance.now();
  const server = await startServer(script, ["start"], {});
  const readyMs = performance.now() - startedAt;
  try {
    await sleep(settleMs);
    const before = await cpuSeconds(server.pid);
    await sleep(watchMs);
    const share = ((await cpuSeconds(server.pid)) - before) / (watchMs / 1_000);
    const megabytes = await residentMegabytes(server.pid);
    return [
      {
        what: "first start in an empty directory, until ready",
        engine: "SQLite",
        measured: `${Math.round(readyMs)} ms`,
        target: "< 2,000 ms",
        met: readyMs < 2_000,
      },
      {
        what: "idle, resident memory",
        engine: "SQLite",
        measured: `${megabytes} MB`,
        target: "< 200 MB",
        met: megabytes < 200,
      },
      {
        what: `idle, share of a core over ${watchMs / 1_000} s`,
        engine: "SQLite",
        measured: `${(share * 100).toFixed(2)} %`,
        target: "< 2 %",
        met: share < 0.02,
      },
    ];
  } finally {
    await server.stop();
  }
}

async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
