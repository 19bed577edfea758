import express, { type Express, type RequestHandler } from "express";
import { notFound } from "../errors.ts";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import { version } from "../version.ts";
import { answerErrors } from "./answer-error.ts";
import { docsPage } from "./docs-page.ts";
import type { Endpoint } from "./endpoint.ts";
import { type HealthDeps, healthRoutes } from "./health.ts";
import { type Hook, hookRoute } from "./hook.ts";
import { serveGet } from "./methods.ts";
import { type MountOptions, mountEndpoints } from "./mount.ts";
import { openApiDocument } from "./openapi.ts";
import { requestLog } from "./request-log.ts";

export interface HttpAppOptions {
  logger: Logger;
  ids: Ids;
  endpoints: readonly Endpoint[];
  /** Addresses for signed bytes, each by its whole path. */
  hooks: readonly Hook[];
  mount: MountOptions;
  health: HealthDeps;
  publicUrl: string;
  /** JSON Schemas for editors, by file name below /schemas/. */
  schemas: Readonly<Record<string, object>>;
  /** Pages for people. What they do not know they pass on. */
  console: RequestHandler;
  /** False in processes that only work: they answer for their health and nothing else. */
  servesApi: boolean;
}

/** The order of the chain: request log → health → hooks, which read raw bytes → API → console → 404 → errors. */
export function createHttpApp(options: HttpAppOptions): Express {
  const { logger, ids, endpoints, health } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");
  app.use(requestLog(logger, ids, health.metrics.request));
  app.use((_req, res, next) => {
    res.setHeader("X-Content-Type-Options", "nosniff");
    res.setHeader("Referrer-Policy", "no-referrer");
    next();
  });
  app.use(healthRoutes(health));
  if (options.servesApi) {
    for (const hook of options.hooks) app.use(hookRoute(hook));
    for (const [name, schema] of Object.entries(options.schemas)) {
      serveGet(app, `/schemas/${name}`, (_req, res) => void res.json(schema));
    }
    app.use(
      "/api/v1",
      docsPage(() => openApiDocument(endpoints, version, options.publicUrl)),
    );
    app.use("/api/v1", mountEndpoints(endpoints, options.mount));
    app.use(options.console);
  }
  app.use((req) => {
    throw notFound(`Nothing is at ${req.path.slice(0, 200)}; the API is described at /api/v1/docs.`);
  });
  app.use(answerErrors(logger));
  return app;
}
