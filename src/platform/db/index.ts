export * from "./columns.ts";
export { afterCommit, type Database, openDatabase } from "./database.ts";
export { isAway, isContention, isDatabaseAway, isUniqueViolation } from "./db-errors.ts";
export { type Step, step, type Unit } from "./group-commit.ts";
export { alongIndex } from "./index-hint.ts";
export { insertAll, type Rows } from "./insert-rows.ts";
export { migrate, migrationStatus, rollback } from "./migrate.ts";
export type { Queryable, Tx } from "./queryable.ts";
export { columnsById, valueById } from "./value-by-id.ts";
