import { explainFailure } from "./cli/explain-failure.ts";
import { ConfigError, readConfig } from "./platform/config.ts";
import { version } from "./platform/version.ts";

const usage = `rollcall ${version}

  rollcall start                 serve (what npm start does)
  rollcall migrate [--down]      bring the database up to date, or take the newest step back
  rollcall members …             list, add, remove members and change their roles
  rollcall keys …                list, create, disable and revoke API keys
  rollcall validate PATH…        check specs and eval files, offline
  rollcall evals run PATH…       run eval files against models, without a server
  rollcall doctor                say what is configured, what is reachable and what to do about the rest

Configuration comes from the environment; the README has the table.`;

/** Each command is loaded when it is asked for: checking a file must not wait for the server's libraries. */
async function run(command: string | undefined, args: string[]): Promise<number> {
  switch (command) {
    case "start":
      return (await import("./cli/start.ts")).startCommand(readConfig());
    case "migrate":
      return (await import("./cli/migrate.ts")).migrateCommand(args, readConfig(), print);
    case "members":
    case "keys":
      return (await import("./cli/manage.ts")).manageCommand(command, args, readConfig(), print);
    case "validate":
      return (await import("./cli/validate.ts")).validateCommand(args, print);
    case "evals":
      return (await import("./cli/evals.ts")).evalsCommand(args, readConfig(), {
        print,
        ...(process.stderr.isTTY ? { progress: (line) => process.stderr.write(`\r\u001b[K${line}`) } : {}),
        colour: process.stdout.isTTY === true,
      });
    case "doctor":
      return (await import("./cli/doctor.ts")).doctorCommand(readConfig(), print);
    case undefined:
    case "help":
    case "--help":
      print(usage);
      return 0;
    case "--version":
      print(version);
      return 0;
    default:
      print(`There is no command ${command}.\n\n${usage}`);
      return 2;
  }
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await run(process.argv[2], process.argv.slice(3));
} catch (error) {
  const problems = error instanceof ConfigError ? error.problems : explainFailure(error);
  if (!problems) throw error;
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exit(1);
}
