import { formatReport, validatePaths } from "../agents/index.ts";
import { frameworkSpecs } from "../frameworks/index.ts";

/** `rollcall validate PATH…`: 0 when all is well, 1 with problems, 2 without a path. */
export async function validateCommand(paths: string[], print: (text: string) => void): Promise<number> {
  if (paths.length === 0 || paths.some((path) => path.startsWith("-"))) {
    print(
      "Usage: rollcall validate PATH…\n\nA path is a repository, its agents folder, a framework's folder or one file.",
    );
    return 2;
  }
  const result = await validatePaths(paths, frameworkSpecs);
  print(formatReport(result, { colour: process.stdout.isTTY === true }).trimEnd());
  return result.problemCount === 0 ? 0 : 1;
}
