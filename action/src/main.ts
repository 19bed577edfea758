import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import * as core from "@actions/core";
import { evaluateCheckout, type Runner } from "./evaluate-checkout.ts";

/** Runs the action with the inputs and the event of the runner's environment. */
export async function run(): Promise<void> {
  const { GITHUB_WORKSPACE, GITHUB_SHA, GITHUB_EVENT_PATH } = process.env;
  await evaluateCheckout(runner, {
    workspace: GITHUB_WORKSPACE ?? process.cwd(),
    sha: GITHUB_SHA ?? "",
    event: GITHUB_EVENT_PATH ? JSON.parse(await readFile(GITHUB_EVENT_PATH, "utf8")) : {},
    now: () => performance.now(),
    sleep: (ms) => sleep(ms),
    random: Math.random,
  });
}

const runner: Runner = {
  getInput: (name) => core.getInput(name),
  setSecret: core.setSecret,
  setOutput: core.setOutput,
  info: core.info,
  annotate: ({ message, title, file, line, column }) =>
    core.error(message, {
      title,
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { startLine: line }),
      ...(column === undefined ? {} : { startColumn: column }),
    }),
  async writeSummary(markdown) {
    // Older GitHub Enterprise Servers have no summaries.
    if (process.env.GITHUB_STEP_SUMMARY) await core.summary.addRaw(markdown).write();
  },
  setFailed: core.setFailed,
};
