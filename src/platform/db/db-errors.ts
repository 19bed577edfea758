/** What a database error means to the code above, for both engines. */

import { AppError } from "../errors.ts";

interface DriverError {
  code?: string;
  errno?: number;
  errcode?: number;
  message?: string;
}

const disconnectCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "PROTOCOL_CONNECTION_LOST",
  "PROTOCOL_SEQUENCE_TIMEOUT",
  "PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR",
  "PROTOCOL_ENQUEUE_AFTER_DESTROY",
  "PROTOCOL_PACKETS_OUT_OF_ORDER",
  "ER_SERVER_SHUTDOWN",
  "ER_NEW_ABORTING_CONNECTION",
  "ER_CON_COUNT_ERROR",
]);

/** Deadlock, lock wait time-out, and MariaDB's "record has changed since last read". */
const contentionNumbers = new Set([1213, 1205, 1020]);

const sqliteBusy = 5;
const sqliteFull = 13;
const sqliteIoError = 10;
const sqliteCannotOpen = 14;

/** The commit was sent and its answer did not come: whether it took place is not known. */
export class CommitInDoubt extends Error {}

/**
 * A row with one of its unique keys is there already. `key` narrows it: SQLite names the columns, MySQL the
 * index, so it has to be a part of both names.
 */
export function isUniqueViolation(error: unknown, key?: string): boolean {
  const { errno, errcode, message = "" } = driverError(error);
  // SQLite: 2067 unique index, 1555 primary key. MySQL: 1062.
  const unique = errno === 1062 || errcode === 2067 || errcode === 1555;
  // Knex puts the statement, which names all columns, in front of what the database said.
  const [, index, columns] = /for key '([^']*)'\s*$|UNIQUE constraint failed: (.+)$/.exec(message) ?? [];
  return unique && (key === undefined || (index ?? columns ?? "").includes(key));
}

/** Another transaction was in the way: the whole transaction may be run again at once. */
export function isContention(error: unknown): boolean {
  const { errno, errcode } = driverError(error);
  return contentionNumbers.has(errno ?? 0) || (errcode !== undefined && (errcode & 0xff) === sqliteBusy);
}

/** The server cannot be reached or went away, or the disk does not take writes: it may be back later. */
export function isDatabaseAway(error: unknown): boolean {
  const { code = "", errcode, message = "" } = driverError(error);
  if (errcode !== undefined) return [sqliteFull, sqliteIoError, sqliteCannotOpen].includes(errcode & 0xff);
  return (
    disconnectCodes.has(code) ||
    /Timeout acquiring a connection|Connection (lost|terminated)|closed state|server has gone away/i.test(
      message,
    )
  );
}

/** The same for what transactions throw once they have waited in vain. */
export const isAway = (error: unknown): boolean =>
  isDatabaseAway(error) || (error instanceof AppError && error.status === 503);

/** SQLite found no room: whatever was to be written is rolled back for certain. */
export function isDiskFull(error: unknown): boolean {
  const { errcode } = driverError(error);
  return errcode !== undefined && (errcode & 0xff) === sqliteFull;
}

function driverError(error: unknown): DriverError {
  return typeof error === "object" && error !== null ? (error as DriverError) : {};
}
