import express, { type Express } from "express";
import { agentJsonSchema, evalJsonSchema } from "./agents/index.ts";
import { frameworkSpecs } from "./frameworks/index.ts";
import { type HealthDeps, healthRoutes } from "./health.ts";
import { notFound } from "./platform/errors.ts";
import {
  answerErrors,
  docsPage,
  type Endpoint,
  type MountOptions,
  mountEndpoints,
  openApiDocument,
  requestLog,
} from "./platform/http/index.ts";
import type { Ids } from "./platform/ids.ts";
import type { Logger } from "./platform/logger.ts";
import { version } from "./version.ts";

export interface HttpAppOptions {
  logger: Logger;
  ids: Ids;
  endpoints: readonly Endpoint[];
  mount: MountOptions;
  health: HealthDeps;
  publicUrl: string;
  /** False in processes that only work: they answer for their health and nothing else. */
  servesApi: boolean;
}

/** The order of the chain: request log → health → (hooks, which read raw bytes) → API → 404 → errors. */
export function createHttpApp(options: HttpAppOptions): Express {
  const { logger, ids, endpoints, health } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.use(requestLog(logger, ids, health.metrics.request));
  app.use((_req, res, next) => {
    res.setHeader("X-Content-Type-Options", "nosniff");
    res.setHeader("Referrer-Policy", "no-referrer");
    next();
  });
  app.use(healthRoutes(health));
  if (options.servesApi) {
    app.get("/schemas/agent.json", (_req, res) => void res.json(agentJsonSchema(frameworkSpecs)));
    app.get("/schemas/eval.json", (_req, res) => void res.json(evalJsonSchema()));
    app.use("/api/v1", docsPage(openApiDocument(endpoints, version, options.publicUrl)));
    app.use("/api/v1", mountEndpoints(endpoints, options.mount));
  }
  app.use((req) => {
    throw notFound(`Nothing is at ${req.path.slice(0, 200)}; the API is described at /api/v1/docs.`);
  });
  app.use(answerErrors(logger));
  return app;
}
