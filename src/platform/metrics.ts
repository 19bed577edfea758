import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Database } from "./db/index.ts";
import { queueDepth, type WorkerEvents } from "./jobs/index.ts";

/** Everything that `GET /metrics` shows, in Prometheus' text format. */
export interface Metrics {
  text(): Promise<string>;
  contentType: string;
  request(method: string, route: string, status: number, durationMs: number): void;
  worker: WorkerEvents;
  runEnded(status: string, failureCode: string | null): void;
}

export function createMetrics(db: Database): Metrics {
  const registry = new Registry();
  const registers = [registry];
  // At the default of 10 ms, watching the event loop costs an idle process more than all else it does.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });
  const requests = new Histogram({
    name: "rollcall_http_request_duration_seconds",
    help: "HTTP requests by route and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers,
  });
  const claimed = new Counter({
    name: "rollcall_jobs_claimed_total",
    help: "Jobs taken from the queue.",
    labelNames: ["kind"],
    registers,
  });
  const jobs = new Histogram({
    name: "rollcall_job_duration_seconds",
    help: "Executions of jobs by outcome.",
    labelNames: ["kind", "outcome"],
    buckets: [0.001, 0.01, 0.1, 1, 10, 60, 300, 1800],
    registers,
  });
  const runs = new Counter({
    name: "rollcall_runs_ended_total",
    help: "Runs that ended in this process.",
    labelNames: ["status", "failure_code"],
    registers,
  });
  addQueueGauges(db, registers);

  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    request(method, route, status, durationMs) {
      requests.observe({ method, route, status }, durationMs / 1000);
    },
    worker: {
      claimed: (kind, count) => claimed.inc({ kind }, count),
      finished: (kind, outcome, durationMs) => jobs.observe({ kind, outcome }, durationMs / 1000),
    },
    runEnded: (status, failureCode) => runs.inc({ status, failure_code: failureCode ?? "" }),
  };
}

function addQueueGauges(db: Database, registers: Registry[]): void {
  const age = new Gauge({
    name: "rollcall_jobs_oldest_seconds",
    help: "Age of the oldest job that waits.",
    registers,
  });
  new Gauge({
    name: "rollcall_jobs",
    help: "Jobs in the queue by state.",
    labelNames: ["state"],
    registers,
    async collect() {
      const { counts, oldestMs } = await queueDepth(db);
      for (const state of ["queued", "running", "dead"]) this.set({ state }, counts[state] ?? 0);
      age.set(oldestMs / 1000);
    },
  });
}
