import type { Access, SystemAuditEntry } from "../access/index.ts";
import type { Database, Tx } from "../platform/db/index.ts";
import { AppError, errorCode } from "../platform/errors.ts";

/** What a command that manages a workspace works with. `print` shows one or more whole lines. */
export interface CommandDeps {
  db: Database;
  access: Access;
  workspaceId: string;
  print(text: string): void;
}

/** The command line was written wrongly. `message` says how, '' when the usage says enough. */
export class UsageError extends Error {}

/**
 * Exit code of a command: 0 done, 1 refused (the reason is printed), 2 written wrongly (the usage is printed).
 * Everything else that is thrown is passed on.
 */
export async function exitCodeOf(
  usage: string,
  print: (text: string) => void,
  work: () => Promise<void>,
): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    if (error instanceof AppError) {
      print(error.message);
      return 1;
    }
    if (error instanceof UsageError || isParseArgsError(error)) {
      print(error.message ? `${error.message}\n\n${usage}` : usage);
      return 2;
    }
    throw error;
  }
}

/** The positional arguments of a verb. Throws UsageError when they are more or fewer than `count`. */
export function exactly(positionals: readonly string[], count: number): readonly string[] {
  if (positionals.length !== count) throw new UsageError();
  return positionals;
}

/** A change that somebody made on the command line, with its audit entry, in one transaction. */
export function changeFromShell<T>(
  { db, access, workspaceId }: CommandDeps,
  work: (tx: Tx) => Promise<{ answer: T } & Pick<SystemAuditEntry, "action" | "target" | "details">>,
): Promise<T> {
  return db.transaction(async (tx) => {
    const { answer, ...entry } = await work(tx);
    const { table, row } = access.systemAuditRow({ ...entry, workspaceId, via: "cli" });
    await tx(table).insert(row);
    return answer;
  });
}

function isParseArgsError(error: unknown): error is Error {
  const code = errorCode(error);
  return code.startsWith("ERR_PARSE_ARGS_");
}
