import { openRepository } from "../../../src/repositories/index.ts";
import { describeRepositoryReader } from "../../contract/repository-reader.suite.ts";
import { startGitHubSimulator } from "../../support/github-simulator.ts";

describeRepositoryReader("github", async (repository) => {
  const simulator = await startGitHubSimulator(repository);
  const { owner, repo, app } = simulator;
  return {
    open: (branch) =>
      openRepository({ kind: "github", owner, repo, app, ...(branch === undefined ? {} : { branch }) })
        .reader,
    serve: async (branch) => {
      simulator.served.defaultBranch = branch;
    },
    close: () => simulator.close(),
  };
});
