import type { AgendaBackend } from "agenda";
import type { Database } from "../db/index.ts";
import { createSqlRepository } from "./sql-repository.ts";

/** Where Agenda's documents are. */
export interface WakeStore {
  readonly kind: "mongodb" | "sql";
  readonly backend: AgendaBackend;
  /** Connects unless it is connected. Called before polling and before anything is ensured. */
  open(): Promise<void>;
  /** Makes sure of the indexes. Called whenever the store may have come back empty. */
  prepare(): Promise<void>;
  /** The document could not be inserted because another process has just inserted it. */
  isDuplicate(error: unknown): boolean;
  close(): Promise<void>;
}

/** A store in the service's own database, whose migrations made the table and its indexes. */
export function openSqlStore(db: Database): WakeStore {
  return {
    kind: "sql",
    backend: {
      name: "SQL",
      repository: createSqlRepository(db),
      ownsConnection: false,
      async connect() {},
      async disconnect() {},
    },
    async open() {},
    async prepare() {},
    isDuplicate: () => false,
    async close() {},
  };
}
