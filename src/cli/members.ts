import { parseArgs } from "node:util";
import { Login, MemberRole } from "../access/index.ts";
import { type CommandDeps, changeFromShell, exactly, exitCodeOf, UsageError } from "./command.ts";
import { formatTable } from "./table.ts";

const usage = `Usage: rollcall members list
       rollcall members add LOGIN ROLE
       rollcall members role LOGIN ROLE
       rollcall members remove LOGIN

Roles: ${MemberRole.options.join(", ")}.`;

/** `rollcall members …`. `args` are what follows the word `members`. Returns the exit code. */
export function membersCommand(args: string[], deps: CommandDeps): Promise<number> {
  return exitCodeOf(usage, deps.print, async () => {
    const [verb, ...rest] = parseArgs({ args, allowPositionals: true }).positionals;
    switch (verb) {
      case "list":
        exactly(rest, 0);
        return list(deps);
      case "add":
        return add(deps, exactly(rest, 2));
      case "role":
        return changeRole(deps, exactly(rest, 2));
      case "remove":
        return remove(deps, exactly(rest, 1));
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

async function remove(deps: CommandDeps, [given]: readonly string[]): Promise<void> {
  const login = loginOf(given);
  await changeFromShell(deps, async (tx) => {
    const before = await deps.access.members.remove(tx, deps.workspaceId, login);
    return { answer: undefined, action: "removeMember", target: login, details: { before } };
  });
  deps.print(`${login} is no member any more, and their API keys have ended for good.`);
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
