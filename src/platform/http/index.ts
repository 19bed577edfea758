export { type Actor, atLeast, type Role, roles } from "./actor.ts";
export { answerErrors } from "./answer-error.ts";
export { docsPage } from "./docs-page.ts";
export {
  defineEndpoint,
  defineStream,
  type Endpoint,
  type StreamEvent,
  type Writes,
  type Written,
} from "./endpoint.ts";
export type { Hook, HookAnswer, HookRequest } from "./hook.ts";
export { createHttpApp } from "./http-app.ts";
export {
  forgetOldAnswers,
  type IdempotentRequest,
  idempotentRequest,
  type KeptAnswer,
  keptAnswerRow,
  keptFor,
  readKeptAnswers,
} from "./idempotency.ts";
export { serveGet } from "./methods.ts";
export { type MountOptions, mountEndpoints } from "./mount.ts";
export { openApiDocument } from "./openapi.ts";
export { createRateLimit, forgetOldWindows, type RateLimit } from "./rate-limit.ts";
export { requestLog } from "./request-log.ts";
export { createHttpServer } from "./server.ts";
export { Before, Instant, Limit, line, Page, text, toPage, WaitSeconds } from "./shapes.ts";
export type { AuditEntry } from "./write.ts";
