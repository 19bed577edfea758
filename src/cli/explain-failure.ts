import { isDatabaseAway } from "../platform/db/index.ts";
import { AppError, errorCode, errorText } from "../platform/errors.ts";

/**
 * One line for each thing that commonly keeps a command from starting and that its user can mend. Undefined
 * for anything else, which deserves its stack.
 */
export function explainFailure(error: unknown): string[] | undefined {
  const cause = error instanceof AppError ? error.cause : error;
  const code = errorCode(cause);
  const address = cause instanceof Error && "port" in cause ? String(cause.port) : "";
  switch (code) {
    case "EADDRINUSE":
      return [`Port ${address} is in use; set PORT to another one, or to 0 for any free one.`];
    case "EACCES":
      return [`Access is denied (${errorText(cause)}); check PORT and the rights on ROLLCALL_HOME.`];
    case "ER_ACCESS_DENIED_ERROR":
    case "ER_DBACCESS_DENIED_ERROR":
      return ["The database refuses the user or the password in DATABASE_URL."];
    case "ER_BAD_DB_ERROR":
      return ["The database that DATABASE_URL names does not exist; create it first."];
    default:
      return isDatabaseAway(cause)
        ? ["The database cannot be reached; check DATABASE_URL and whether its server runs."]
        : undefined;
  }
}
