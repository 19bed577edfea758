import { type Response, Router } from "express";
import { type Database, migrationStatus } from "../db/index.ts";
import type { Metrics } from "../metrics.ts";
import { serveGet } from "./methods.ts";

export interface HealthDeps {
  db: Database;
  metrics: Metrics;
  /** Whether the catalog was read at least once. */
  catalogRead(): Promise<boolean>;
  stopping: AbortSignal;
}

const readinessMs = 4_000;

/** `/healthz`: the process answers. `/readyz`: it can do its work. `/metrics`: numbers. None needs a key. */
export function healthRoutes(deps: HealthDeps): Router {
  const router = Router();
  serveGet(router, "/healthz", (_req, res) => void res.json({ status: "ok" }));
  serveGet(router, "/readyz", async (_req, res) => {
    const reasons = await reasonsAgainst(deps);
    res
      .status(reasons.length === 0 ? 200 : 503)
      .json(reasons.length === 0 ? { status: "ready" } : { status: "not ready", reasons });
  });
  serveGet(router, "/metrics", async (_req, res: Response) => {
    res.type(deps.metrics.contentType).send(await deps.metrics.text());
  });
  return router;
}

async function reasonsAgainst({ db, catalogRead, stopping }: HealthDeps): Promise<string[]> {
  if (stopping.aborted) return ["The process is stopping."];
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<string[]>((resolve) => {
    timer = setTimeout(resolve, readinessMs, ["The database does not answer."]);
  });
  try {
    return await Promise.race([checkDatabase(db, catalogRead), tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

async function checkDatabase(db: Database, catalogRead: () => Promise<boolean>): Promise<string[]> {
  try {
    await db.ping();
    const { pending } = await migrationStatus(db);
    if (pending.length > 0) return [`The database lacks ${pending.length} migrations; run rollcall migrate.`];
    return (await catalogRead()) ? [] : ["The catalog was not read yet."];
  } catch {
    return ["The database cannot be written."];
  }
}
