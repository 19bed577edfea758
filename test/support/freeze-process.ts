import type { Database } from "../../src/platform/db/index.ts";

/**
 * Stops a worker process (SIGSTOP) while it is in no transaction over jobs: on SQLite everybody else would wait for it
 * until it goes on, which is not what a test of leases is about.
 */
export async function freezeProcess(db: Database, pid: number): Promise<void> {
  await db.transaction(async (tx) => {
    // On SQLite the lock of the one writer, elsewhere those of all jobs.
    await tx("jobs").update({ error: tx.ref("error") });
    process.kill(pid, "SIGSTOP");
  });
}
