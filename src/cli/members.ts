import { parseArgs } from "node:util";
import { Login, MemberRole, type OwnedKind } from "../access/index.ts";
import { type CommandDeps, changeFromShell, exactly, exitCodeOf, UsageError } from "./command.ts";
import { formatTable } from "./table.ts";

export interface MembersDeps extends CommandDeps {
  /** What members own, of all features. */
  kinds: readonly OwnedKind[];
}

const usage = `Usage: rollcall members list
       rollcall members add LOGIN ROLE
       rollcall members role LOGIN ROLE
       rollcall members remove LOGIN [--to LOGIN]

Roles: ${MemberRole.options.join(", ")}. What a removed member owns, such as schedules and webhooks, is stopped or given
to the member that --to names.`;

/** `rollcall members …`. `args` are what follows the word `members`. Returns the exit code. */
export function membersCommand(args: string[], deps: MembersDeps): Promise<number> {
  return exitCodeOf(usage, deps.print, async () => {
    const options = { to: { type: "string" } } as const;
    const { positionals, values } = parseArgs({ args, allowPositionals: true, options });
    const [verb, ...rest] = positionals;
    if (values.to !== undefined && verb !== "remove") throw new UsageError("Only remove takes --to.");
    switch (verb) {
      case "list":
        exactly(rest, 0);
        return list(deps);
      case "add":
        return add(deps, exactly(rest, 2));
      case "role":
        return changeRole(deps, exactly(rest, 2));
      case "remove":
        return remove(deps, exactly(rest, 1), values.to);
      default:
        throw new UsageError();
    }
  });
}

async function list({ db, access, workspaceId, print }: CommandDeps): Promise<void> {
  const members = await access.members.list(db.read, workspaceId);
  print(
    formatTable(
      ["LOGIN", "ROLE", "SINCE"],
      members.map((member) => [member.login, member.role, member.createdAt]),
    ),
  );
}

async function add(deps: CommandDeps, [login, role]: readonly string[]): Promise<void> {
  const input = { workspaceId: deps.workspaceId, login: loginOf(login), role: roleOf(role) };
  await changeFromShell(deps, async (tx) => ({
    answer: await deps.access.members.add(tx, input),
    action: "addMember",
    target: input.login,
    details: { role: input.role },
  }));
  deps.print(`${input.login} is now a member with the role ${input.role}.`);
  deps.print(`Make a key for them with: rollcall keys create NAME --member ${input.login}`);
}

async function changeRole(deps: CommandDeps, [login, role]: readonly string[]): Promise<void> {
  const input = { workspaceId: deps.workspaceId, login: loginOf(login), role: roleOf(role) };
  const before = await changeFromShell(deps, async (tx) => {
    const { before } = await deps.access.members.changeRole(tx, input);
    return {
      answer: before,
      action: "changeMemberRole",
      target: input.login,
      details: { role: input.role, before },
    };
  });
  deps.print(`${input.login} has the role ${input.role} now; it was ${before}.`);
}

async function remove(
  deps: MembersDeps,
  [given]: readonly string[],
  heir: string | undefined,
): Promise<void> {
  const { workspaceId, kinds, print } = deps;
  const login = loginOf(given);
  const to = heir === undefined ? undefined : loginOf(heir);
  const counts = await changeFromShell(deps, async (tx) => {
    const { counts, details } = await deps.access.handover(kinds).remove(tx, { workspaceId, login, to });
    return { answer: counts, action: "removeMember", target: login, details };
  });
  print(`${login} is no member any more, and their API keys have ended for good.`);
  const owned = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (owned > 0) print(to === undefined ? `Stopped what they owned: ${owned}.` : `Given to ${to}: ${owned}.`);
}

function loginOf(text: string | undefined): string {
  const parsed = Login.safeParse(text);
  if (!parsed.success) throw new UsageError(`This is not a login. ${parsed.error.issues[0]?.message}`);
  return parsed.data;
}

function roleOf(text: string | undefined): MemberRole {
  const parsed = MemberRole.safeParse(text);
  if (!parsed.success) throw new UsageError(`This is not a role. ${parsed.error.issues[0]?.message}`);
  return parsed.data;
}
