import { execFileSync } from "node:child_process";

/** Settings of the machine's user must not change what a test makes. */
const ENVIRONMENT = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.com",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.com",
};

/** Runs Git itself, for repositories in forms that only it makes, and answers its output without the newline. */
export function git(cwd: string, args: readonly string[], input?: string | Uint8Array): string {
  const env = { ...process.env, ...ENVIRONMENT };
  const stdio = "pipe" as const;
  return execFileSync("git", [...args], { cwd, env, stdio, ...(input === undefined ? {} : { input }) })
    .toString()
    .trimEnd();
}

/** Whether this machine has Git: the product does not need it, some tests do. */
export function hasGit(): boolean {
  try {
    git("/", ["--version"]);
    return true;
  } catch {
    return false;
  }
}
