import { expect, it, onTestFinished, vi } from "vitest";
import { openRepository } from "../../../src/repositories/index.ts";
import { createTestRepository } from "../../support/git-repository.ts";
import { startGitHubSimulator } from "../../support/github-simulator.ts";

it("another default branch is found by a process that nobody told of it, with its next regular look", async () => {
  const repository = await createTestRepository();
  onTestFinished(() => repository.remove());
  const github = await startGitHubSimulator(repository);
  onTestFinished(() => github.close());
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const main = await repository.commit({ "agents/a.yaml": "a" });
  const trunk = await repository.commit({ "agents/a.yaml": "b" }, "trunk");
  const { owner, repo, app } = github;
  const { reader } = openRepository({ kind: "github", owner, repo, app });
  expect(await reader.head()).toBe(main);
  github.served.defaultBranch = "trunk";
  expect(await reader.head()).toBe(main);
  vi.advanceTimersByTime(reader.pollInterval);
  expect(await reader.head()).toBe(trunk);
  expect(reader.branch()).toBe("trunk");
});
