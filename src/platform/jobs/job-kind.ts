import type { z } from "zod";
import type { Step, Tx } from "../db/index.ts";
import type { Backoff } from "./backoff.ts";

/** A claimed job as its handler sees it. */
export interface Job<P> {
  id: string;
  payload: P;
  /** 1 on the first execution; every write is fenced with it. */
  attempt: number;
  /** Aborted when the lease is lost or the process has to stop. */
  signal: AbortSignal;
  /** Ends the job in the handler's transaction. Throws LeaseLost, which rolls that transaction back. */
  complete(tx: Tx): Promise<void>;
  /** The same as a step of a commit that has nothing to look at: done together for the jobs that end at the same moment. */
  completion(): Step;
  /** Makes sure, until the transaction ends, that nobody else has the job. Throws LeaseLost. */
  hold(tx: Tx): Promise<void>;
}

export interface JobKind<S extends z.ZodType = z.ZodType> {
  kind: string;
  payload: S;
  /** Jobs of this kind at the same time in this process. */
  concurrency: number;
  /** Claims, the first one included, until the job is dead. */
  maxAttempts: number;
  backoff: Backoff;
  /**
   * Does the work. A handler that returns without `complete` has its job completed; one that throws has it
   * tried again. It may be run more than once, whatever happened before: at least once is the promise.
   */
  handle(job: Job<z.infer<S>>): Promise<void>;
  /** In the transaction that makes the job dead: lets the feature end what waits for it. */
  onDead?(tx: Tx, payload: z.infer<S>, error: string): Promise<void>;
}

/** The job was given to another worker: nothing that this one does counts any more. */
export class LeaseLost extends Error {}

/** Thrown by a handler that wants its next try no earlier than in `delayMs`. */
export class RetryLater extends Error {
  readonly delayMs: number;

  constructor(message: string, delayMs: number) {
    super(message);
    this.delayMs = delayMs;
  }
}
