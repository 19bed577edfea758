import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { startScript } from "../support/child-process.ts";
import { git } from "../support/git-program.ts";

export const actionFolder = fileURLToPath(new URL("../../action", import.meta.url));

const localAction = join(actionFolder, "node_modules/@github/local-action/bin/local-action.js");

/** Whether `npm ci` was run in action/. */
export const hasActionPackages = () => existsSync(localAction);

/** A checkout as actions/checkout leaves it; removed when the running test is finished. */
export interface Checkout {
  directory: string;
  /** Writes files (null deletes), commits them and answers the commit's id. */
  commit(files: Readonly<Record<string, string | null>>): Promise<string>;
}

export async function createCheckout(): Promise<Checkout> {
  const directory = await temporaryFolder();
  git(directory, ["init", "-q", "-b", "main"]);
  return {
    directory,
    async commit(files) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(directory, path)), { recursive: true });
        if (text === null) await rm(join(directory, path));
        else await writeFile(join(directory, path), text);
      }
      git(directory, ["add", "-A"]);
      git(directory, ["commit", "-q", "-m", "Change"]);
      return git(directory, ["rev-parse", "HEAD"]);
    },
  };
}

export interface ActionSetup {
  /** By their names in action.yml; those with a default there may be left out. */
  inputs: Readonly<Record<string, string>>;
  workspace: string;
  event?: unknown;
}

/** Runs the bundle as a runner does: inputs, the event and the files for answers come with the environment. */
export async function runBundle(setup: ActionSetup) {
  const { env, outputs, summary } = await runnerFiles(setup);
  const script = startScript(join(actionFolder, "dist/index.js"), { env, cwd: setup.workspace });
  const { code } = await script.exit;
  return {
    code,
    /** Lines of stdout that a runner takes as commands. */
    commands: script.lines.filter((line) => line.startsWith("::")),
    text: `${script.lines.join("\n")}\n${script.stderr()}`,
    outputs: await outputs(),
    summary: await summary(),
  };
}

/** Runs the source with GitHub's own program for trying actions locally. */
export async function runLocally(setup: ActionSetup) {
  const { env, summary } = await runnerFiles(setup);
  const folder = await temporaryFolder();
  const file = join(folder, ".env");
  await writeFile(
    file,
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const script = startScript(localAction, {
    args: ["run", actionFolder, "src/main.ts", file],
    cwd: actionFolder,
  });
  const { code } = await script.exit;
  return { code, text: `${script.lines.join("\n")}\n${script.stderr()}`, summary: await summary() };
}

async function runnerFiles({ inputs, workspace, event = {} }: ActionSetup) {
  const folder = await temporaryFolder();
  const [output, summary, payload] = ["output", "summary", "event.json"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await Promise.all([
    writeFile(output, ""),
    writeFile(summary, ""),
    writeFile(payload, JSON.stringify(event)),
  ]);
  const env = {
    ...Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
    ),
    GITHUB_WORKSPACE: workspace,
    GITHUB_SHA: git(workspace, ["rev-parse", "HEAD"]),
    GITHUB_EVENT_PATH: payload,
    GITHUB_OUTPUT: output,
    GITHUB_STEP_SUMMARY: summary,
  };
  return {
    env,
    outputs: async () => parseOutputs(await readFile(output, "utf8")),
    summary: () => readFile(summary, "utf8"),
  };
}

/** Outputs are written as `name<<delimiter`, lines, delimiter. */
function parseOutputs(text: string): Record<string, string> {
  const found = text.matchAll(/^(?<name>[\w-]+)<<(?<end>\S+)\n(?<value>[\s\S]*?)\n\k<end>$/gm);
  return Object.fromEntries([...found].map(({ groups }) => [groups?.name ?? "", groups?.value ?? ""]));
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rollcall-action-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
