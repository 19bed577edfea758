export { type Backoff, backoffMs } from "./backoff.ts";
export { type Job, type JobKind, LeaseLost, RetryLater } from "./job-kind.ts";
export { createJobQueue, type JobQueue, type JobRequest } from "./queue.ts";
export { type JobRow, queueDepth } from "./store.ts";
export { createWorker, type Worker, type WorkerEvents, type WorkerOptions } from "./worker.ts";
