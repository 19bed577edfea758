import { layFoundation } from "../foundation.ts";
import type { Config } from "../platform/config.ts";
import { keysCommand } from "./keys.ts";
import { membersCommand } from "./members.ts";

/** `rollcall members …` and `rollcall keys …`, straight on the database. Returns the exit code. */
export async function manageCommand(
  command: "members" | "keys",
  args: string[],
  config: Config,
  print: (text: string) => void,
): Promise<number> {
  const { db, access, workspaceId, firstKey } = await layFoundation(config);
  try {
    if (firstKey && !config.adminKey) print(`The first admin's API key, shown this once: ${firstKey}\n`);
    const run = command === "members" ? membersCommand : keysCommand;
    return await run(args, { db, access, workspaceId, print });
  } finally {
    await access.stop();
    await db.close();
  }
}
