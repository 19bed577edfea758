import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { migrate, openDatabase } from "../../../src/platform/db/index.ts";
import { freshDatabase, type TestDatabase } from "../../support/databases.ts";

const workspace = (n: number | string) => ({ id: `wsp_${n}`, slug: `slug-${n}`, created_at: 1 });

/** Another connection that is in the middle of writing, as a command line's would be. */
function holdWriteLock({ config }: TestDatabase): () => void {
  if (config.engine !== "sqlite") throw new Error("Only SQLite has one writer.");
  const other = new DatabaseSync(config.path);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  other.exec("INSERT INTO workspaces (id, slug, created_at) VALUES ('wsp_other', 'other', 1)");
  return () => other.exec("COMMIT");
}

it("writes once another process has finished writing, reads meanwhile, and stays responsive", async () => {
  const database = await freshDatabase("sqlite");
  const release = holdWriteLock(database);
  let answered = false;
  const writing = Promise.all([
    database.db.transaction((tx) => tx("workspaces").insert(workspace(1))),
    database.db.commit({ rows: [{ table: "workspaces", row: workspace(2) }] }),
  ]).then(() => {
    answered = true;
  });
  // Waiting for the lock in one go would let this turn come only after the lock was given up on.
  await sleep(600);
  expect(await database.db.read("workspaces")).toEqual([]);
  expect(answered).toBe(false);
  release();
  await writing;
  expect(await database.db.read("workspaces").orderBy("id").pluck("id")).toEqual([
    "wsp_1",
    "wsp_2",
    "wsp_other",
  ]);
});

it("gives up with 503 when another process never stops writing", async () => {
  const database = await freshDatabase("sqlite");
  const release = holdWriteLock(database);
  const writing = database.db.transaction((tx) => tx("workspaces").insert(workspace(1)));
  await expect(writing).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "2" } });
  release();
  await database.db.transaction((tx) => tx("workspaces").insert(workspace(1)));
});

it("answers 503 on a full disk, keeps what was acknowledged, and goes on when there is room", async ({
  skip,
}) => {
  const directory = mkdtempSync(join(tmpdir(), "rollcall-full-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", directory], { stdio: "ignore" });
  } catch {
    skip("a file system of limited size cannot be mounted here; it takes root");
  }
  onTestFinished(() => void execFileSync("umount", ["-l", directory]));
  const config = { engine: "sqlite", path: join(directory, "rollcall.sqlite") } as const;
  const db = openDatabase(config);
  onTestFinished(() => db.close());
  await migrate(db, config);

  const acknowledged: string[] = [];
  const job = {
    kind: "k",
    payload: "x".repeat(20_000),
    state: "queued",
    run_at: 1,
    attempt: 0,
    created_at: 1,
  };
  const add = async (n: number) => {
    await db.commit({ rows: [{ table: "jobs", row: { ...job, id: `job_${n}` } }] });
    acknowledged.push(`job_${n}`);
  };
  const filler = join(directory, "filler");
  writeFileSync(
    filler,
    Buffer.alloc(Math.max(0, statfsSync(directory).bavail * statfsSync(directory).bsize - 1_000_000)),
  );
  let failure: unknown;
  for (let n = 0; failure === undefined && n < 500; n++) {
    await add(n).catch((error) => {
      failure = error;
    });
  }
  expect(failure).toMatchObject({ status: 503, headers: { "Retry-After": "2" } });
  expect(acknowledged.length).toBeGreaterThan(0);
  expect((await db.read("jobs").pluck("id")).sort()).toEqual([...acknowledged].sort());

  unlinkSync(filler);
  await add(1_000);
  expect((await db.read("jobs").pluck("id")).sort()).toEqual([...acknowledged].sort());
  expect(await db.writer.raw("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
});
