import type { Knex } from "knex";
import { CommitInDoubt, isDatabaseAway, isDiskFull } from "./db-errors.ts";
import type { Insert } from "./insert-rows.ts";

/**
 * Makes the function that inserts into several tables of MySQL in one transaction and one round trip: `pool` has a single
 * connection, the only one that takes several statements at a time. Nothing but such inserts is sent there.
 */
export function createInsertAtOnce(pool: Knex) {
  return async (inserts: readonly Insert[]): Promise<void> => {
    const connection = await pool.client.acquireConnection();
    try {
      const texts = ["BEGIN", ...inserts.map(({ sql }) => sql), "COMMIT"];
      const values = inserts.flatMap((insert) => insert.values);
      await pool.raw(`${texts.join(";\n")};`, values).connection(connection);
    } catch (error) {
      // All of it was sent, the commit too.
      if (isDatabaseAway(error) && !isDiskFull(error))
        throw new CommitInDoubt("commit in doubt", { cause: error });
      // What follows a statement that failed was not executed: the transaction is still open, and the next BEGIN would
      // commit it.
      await pool
        .raw("ROLLBACK")
        .connection(connection)
        .catch(() => pool.client.destroyRawConnection(connection));
      throw error;
    } finally {
      await pool.client.releaseConnection(connection);
    }
  };
}
