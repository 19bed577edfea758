import { cpus } from "node:os";
import { measureCatalog } from "./catalog.ts";
import { startEngines } from "./engines.ts";
import { measureIdle } from "./idle.ts";
import { measureStartLatency } from "./latency.ts";
import { measureLists } from "./lists.ts";
import { type Figure, formatTable } from "./table.ts";
import { measureThroughput } from "./throughput.ts";

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
