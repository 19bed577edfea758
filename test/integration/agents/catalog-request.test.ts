import { describe, expect, it, onTestFinished } from "vitest";
import { createCatalogSync } from "../../../src/agents/index.ts";
import { frameworkSpecs } from "../../../src/frameworks/index.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { createRedactor } from "../../../src/platform/redact.ts";
import { openRepository, type RepositoryReader } from "../../../src/repositories/index.ts";
import { ensureWorkspace } from "../../../src/workspaces/index.ts";
import { freshDatabase } from "../../support/databases.ts";
import { createTestRepository } from "../../support/git-repository.ts";

const file = (text: string) => ({
  "agents/ai-sdk/one.yaml": `name: one\nframework: ai-sdk\nmodel: offline/echo\ninstructions: ${text}\n`,
});

/** A catalog of a repository on disk whose every look at the head waits for `pass`. */
async function setUp() {
  const { db } = await freshDatabase("sqlite");
  const workspace = await db.transaction((tx) =>
    ensureWorkspace(tx, { ids: createIds(), clock: systemClock }),
  );
  const repository = await createTestRepository();
  onTestFinished(() => repository.remove());
  const plain = openRepository({ kind: "local", path: repository.gitdir }).reader;
  const waiting: (() => void)[] = [];
  let looks = 0;
  const gated: RepositoryReader = {
    ...plain,
    async head() {
      looks++;
      const sha = await plain.head();
      await new Promise<void>((resolve) => waiting.push(resolve));
      return sha;
    },
  };
  const syncOf = (reader: RepositoryReader) =>
    createCatalogSync({
      db,
      clock: systemClock,
      logger: createLogger("silent", createRedactor()),
      reader,
      schemas: frameworkSpecs,
      workspaceId: workspace.id,
    });
  return {
    repository,
    catalog: syncOf(gated),
    /** That of another process. */
    other: syncOf(plain),
    looks: () => looks,
    shown: async () => (await db.read("catalogs").first()).commit_sha,
    async pass() {
      await expect.poll(() => waiting.length).toBeGreaterThan(0);
      waiting.shift()?.();
    },
  };
}

describe("CatalogSync.request", () => {
  it("has one reading under way, and one more for all who ask meanwhile", async () => {
    const { repository, catalog, looks, pass } = await setUp();
    const before = await repository.commit(file("a"));
    const first = catalog.request();
    await expect.poll(looks).toBe(1);
    const after = await repository.commit(file("b"));
    const later = [catalog.request(), catalog.request(), catalog.request()];
    await pass();
    expect(await first).toBe(before);
    await pass();
    expect(await Promise.all(later)).toEqual([after, after, after]);
    expect(looks()).toBe(2);
  });

  it("looks again when another process was ahead with a commit that may be older", async () => {
    const { repository, catalog, other, looks, shown, pass } = await setUp();
    const older = await repository.commit(file("a"));
    await other.request();
    const newer = await repository.commit(file("b"));
    const asked = catalog.request();
    await expect.poll(looks).toBe(1);
    // The other process read the head before the push and stores it only now.
    await repository.setRef("refs/heads/main", await repository.commit(file("c"), "side"));
    await other.request();
    await repository.setRef("refs/heads/main", newer);
    await pass();
    await pass();
    expect(await asked).toBe(newer);
    expect(await shown()).toBe(newer);
    expect(newer).not.toBe(older);
  });

  it("throws what made the catalog stale, and the next one works", async () => {
    const { repository, other } = await setUp();
    await expect(other.request()).rejects.toMatchObject({ name: "RepositoryUnavailable" });
    const sha = await repository.commit(file("a"));
    expect(await other.request()).toBe(sha);
  });
});
