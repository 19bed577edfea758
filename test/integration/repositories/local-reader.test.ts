import { createLocalReader } from "../../../src/repositories/index.ts";
import { describeRepositoryReader } from "../../contract/repository-reader.suite.ts";

describeRepositoryReader("local", async (repository) => ({
  open: (branch) =>
    createLocalReader({ path: repository.gitdir, ...(branch === undefined ? {} : { branch }) }),
  serve: (branch) => repository.checkOut(branch),
  close: async () => {},
}));
