import { ownedKinds } from "../composition/owned-kinds.ts";
import { createDispatches } from "../dispatches/index.ts";
import { layFoundation } from "../foundation.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { createJobQueue } from "../platform/jobs/index.ts";
import { keysCommand } from "./keys.ts";
import { membersCommand } from "./members.ts";

/** `rollcall members …` and `rollcall keys …`, straight on the database. Returns the exit code. */
export async function manageCommand(
  command: "members" | "keys",
  args: string[],
  config: Config,
  print: (text: string) => void,
): Promise<number> {
  const { db, ids, redactor, access, workspaceId, firstKey } = await layFoundation(config);
  try {
    if (firstKey && !config.adminKey) print(`The first admin's API key, shown this once: ${firstKey}\n`);
    const deps = { db, access, workspaceId, print };
    if (command === "keys") return await keysCommand(args, deps);
    const clock = systemClock;
    const queue = createJobQueue(db, ids, clock);
    const kinds = ownedKinds({ clock, queue, dispatches: createDispatches({ db, ids, clock, redactor }) });
    return await membersCommand(args, { ...deps, kinds });
  } finally {
    await access.stop();
    await db.close();
  }
}
