import type { Members } from "../access/index.ts";
import type { Database } from "../platform/db/index.ts";
import { atLeast } from "../platform/http/index.ts";
import type { Settings } from "../settings/index.ts";
import type { HeadRow } from "./store.ts";

export interface RunAsDeps {
  db: Database;
  members: Pick<Members, "list">;
  settings: Pick<Settings, "evals">;
}

/**
 * Makes the function that says whose connections the evals of a head use: its author's, when that is a member who
 * may start runs; else those of the member whom the setting `evalOwner` names; else, with null, nobody's. An
 * author whom the repository does not know could have taken the name of any member.
 */
export function createRunAs({ db, members, settings }: RunAsDeps) {
  return async ({ workspace_id, author, author_belongs }: HeadRow): Promise<string | null> => {
    const [all, { evalOwner }] = await Promise.all([
      members.list(db.read, workspace_id),
      settings.evals(workspace_id),
    ]);
    const able = all.filter(({ role }) => atLeast(role, "operator")).map(({ login }) => login);
    const named = (login: string) =>
      able.find((each) => each === login) ?? able.find((each) => each.toLowerCase() === login.toLowerCase());
    const own = author_belongs === 1 && author !== "" ? named(author) : undefined;
    return own ?? (evalOwner === null ? null : (named(evalOwner) ?? null));
  };
}
