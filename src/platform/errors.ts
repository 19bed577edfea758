/**
 * The errors that reach an HTTP client on purpose. Anything else that is thrown becomes a 500 that says
 * nothing of its cause. `message` is one sentence that tells the caller what to do next.
 */
export class AppError extends Error {
  readonly status: number;
  readonly details: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    details?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = "AppError";
    this.status = status;
    this.details = details;
    this.headers = headers;
  }
}

export const badRequest = (message: string, details?: unknown) => new AppError(400, message, details);

export const unauthorized = (message: string) =>
  new AppError(401, message, undefined, { "WWW-Authenticate": "Bearer" });

export const forbidden = (message: string, details?: unknown) => new AppError(403, message, details);

export const notFound = (message: string) => new AppError(404, message);

export const conflict = (message: string, details?: unknown, headers?: Record<string, string>) =>
  new AppError(409, message, details, headers);

export const unprocessable = (message: string, details?: unknown) => new AppError(422, message, details);

/** `retryAfter` is in whole seconds, as the header wants it. */
export const tooMany = (message: string, retryAfter: number, headers: Record<string, string> = {}) =>
  new AppError(429, message, undefined, { "Retry-After": String(retryAfter), ...headers });

export const unavailable = (message: string, retryAfter = 1) =>
  new AppError(503, message, undefined, { "Retry-After": String(retryAfter) });

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error of Node or of a driver, such as ENOENT; '' for anything without one. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
