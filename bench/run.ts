import { cpus } from "node:os";
import { measureCatalog } from "./catalog.ts";
import { measureChat } from "./chat.ts";
import { measureDeliveries } from "./deliveries.ts";
import { startEngines } from "./engines.ts";
import { measureEvals } from "./evals.ts";
import { measureIdle } from "./idle.ts";
import { measureStartLatency } from "./latency.ts";
import { measureLists } from "./lists.ts";
import { measureSchedules } from "./schedules.ts";
import { type Figure, formatTable } from "./table.ts";
import { measureThroughput } from "./throughput.ts";
import { measureWebhooks } from "./webhooks.ts";

/**
 * `npm run bench [NAME…]`: measures the built service on this machine and prints a table. Figures are to be
 * read as ratios: each yardstick is measured in the same run, in turn with what it is compared to.
 */
const script = "dist/main.js";
const engines = await startEngines();
const perEngine = {
  throughput: measureThroughput,
  latency: measureStartLatency,
  lists: measureLists,
  catalog: measureCatalog,
  deliveries: measureDeliveries,
  evals: measureEvals,
  webhooks: measureWebhooks,
  schedules: measureSchedules,
  chat: measureChat,
};
const wanted = process.argv.slice(2);
const asked = (name: string) => wanted.length === 0 || wanted.includes(name);

const figures: Figure[] = [];
const note = (name: string) => process.stderr.write(`${new Date().toISOString()}  ${name}\n`);
try {
  if (asked("idle")) {
    note("idle");
    figures.push(...(await measureIdle(script)));
  }
  if (asked("frameworks")) {
    note("frameworks");
    // Their libraries are loaded for this alone.
    const { measureFrameworks } = await import("./frameworks.ts");
    figures.push(...(await measureFrameworks()));
  }
  for (const [name, measure] of Object.entries(perEngine)) {
    for (const engine of engines) {
      if (!asked(name)) continue;
      note(`${name} on ${engine.name}`);
      figures.push(...(await measure(engine, script)));
    }
  }
} finally {
  await Promise.all(engines.map((engine) => engine.stop()));
}
const [cpu] = cpus();
console.log(`${cpus().length} × ${cpu?.model ?? "unknown processor"}, Node ${process.versions.node}\n`);
console.log(formatTable(figures));
