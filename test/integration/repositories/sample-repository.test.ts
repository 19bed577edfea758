import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalReader, createSampleRepository } from "../../../src/repositories/index.ts";

describe("sample repository", () => {
  let root: string;
  let source: string;
  let target: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "rollcall-sample-"));
    source = join(root, "source");
    target = join(root, "home/agents-repository");
    await mkdir(join(source, "agents/ai-sdk"), { recursive: true });
    await writeFile(join(source, "README.md"), "sample");
    await writeFile(join(source, "agents/ai-sdk/greeter.yaml"), "name: greeter\n");
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("has the files as the first commit of main, and in its work tree", async () => {
    expect(await createSampleRepository(target, source)).toBe(true);
    const reader = createLocalReader({ path: target });
    const head = await reader.head();
    expect(reader.branch()).toBe("main");
    expect((await reader.tree(head)).map(({ path }) => path)).toEqual(["agents/ai-sdk/greeter.yaml"]);
    expect(Buffer.from((await reader.file(head, "README.md", 100)) ?? []).toString()).toBe("sample");
    expect(await readFile(join(target, "README.md"), "utf8")).toBe("sample");
    expect(await readdir(join(root, "home"))).toEqual(["agents-repository"]);
  });

  it("leaves an existing repository as it is", async () => {
    await createSampleRepository(target, source);
    const head = await createLocalReader({ path: target }).head();
    await writeFile(join(target, "README.md"), "edited");
    await writeFile(join(source, "README.md"), "newer");
    expect(await createSampleRepository(target, source)).toBe(false);
    expect(await readFile(join(target, "README.md"), "utf8")).toBe("edited");
    expect(await createLocalReader({ path: target }).head()).toBe(head);
  });

  it("uses an empty folder, and refuses one with other files", async () => {
    await mkdir(target, { recursive: true });
    expect(await createSampleRepository(target, source)).toBe(true);
    await rm(join(target, ".git"), { recursive: true });
    await expect(createSampleRepository(target, source)).rejects.toThrow("no Git repository");
    expect(await readFile(join(target, "README.md"), "utf8")).toBe("sample");
  });

  it("leaves nothing behind when it fails half-way", async () => {
    await expect(createSampleRepository(target, join(root, "absent"))).rejects.toThrow("absent");
    expect(await readdir(join(root, "home"))).toEqual([]);
  });

  it("is made once by two processes that start together", async () => {
    const made = await Promise.all([1, 2, 3].map(() => createSampleRepository(target, source)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await readdir(join(root, "home"))).toEqual(["agents-repository"]);
    await createLocalReader({ path: target }).head();
  });
});
