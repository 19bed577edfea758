import { parseArgs } from "node:util";
import { type ApiKeyRecord, KeyName } from "../access/index.ts";
import { type CommandDeps, changeFromShell, exactly, exitCodeOf, UsageError } from "./command.ts";
import { formatTable } from "./table.ts";

const usage = `Usage: rollcall keys list [--member LOGIN]
       rollcall keys create NAME --member LOGIN
       rollcall keys disable ID
       rollcall keys enable ID
       rollcall keys revoke ID`;

/** Keys that the list reads at once. */
const pageSize = 200;

/** `rollcall keys …`. `args` are what follows the word `keys`. Returns the exit code. */
export function keysCommand(args: string[], deps: CommandDeps): Promise<number> {
  return exitCodeOf(usage, deps.print, async () => {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { member: { type: "string" } },
    });
    const [verb, ...rest] = positionals;
    const takesMember = verb === "list" || verb === "create";
    if (values.member !== undefined && !takesMember) throw new UsageError("--member does not fit here.");
    switch (verb) {
      case "list":
        exactly(rest, 0);
        return list(deps, values.member);
      case "create":
        return create(deps, exactly(rest, 1)[0], values.member);
      case "disable":
      case "enable":
        return setEnabled(deps, exactly(rest, 1)[0] ?? "", verb === "enable");
      case "revoke":
        return revoke(deps, exactly(rest, 1)[0] ?? "");
      default:
        throw new UsageError();
    }
  });
}

async function list({ db, access, workspaceId, print }: CommandDeps, member: string | undefined) {
  const keys: ApiKeyRecord[] = [];
  for (let before: string | undefined; ; before = keys.at(-1)?.id) {
    const page = await access.apiKeys.list(db.read, workspaceId, { member, before, limit: pageSize });
    keys.push(...page);
    if (page.length < pageSize) break;
  }
  const rows = keys.map((key) => [
    key.id,
    key.member,
    key.name,
    `${key.preview}…`,
    stateOf(key),
    key.createdAt,
    key.lastUsedAt ?? "never",
  ]);
  print(formatTable(["ID", "MEMBER", "NAME", "KEY", "STATE", "CREATED", "LAST USED"], rows));
}

async function create(deps: CommandDeps, given: string | undefined, member: string | undefined) {
  const name = KeyName.safeParse(given);
  if (!name.success) throw new UsageError(`This name cannot be used. ${name.error.issues[0]?.message}`);
  if (member === undefined) throw new UsageError("Say whose key it is with --member LOGIN.");
  const { apiKey, key } = await changeFromShell(deps, async (tx) => {
    const { workspaceId } = deps;
    const answer = await deps.access.apiKeys.create(tx, { workspaceId, member, name: name.data });
    return { answer, action: "createApiKey", target: answer.apiKey.id, details: { member, name: name.data } };
  });
  deps.print(`Made ${apiKey.id} for ${member}. The key is shown only this once:\n\n${key}\n`);
}

async function setEnabled(deps: CommandDeps, id: string, enabled: boolean) {
  await changeFromShell(deps, async (tx) => {
    const apiKey = await deps.access.apiKeys.setEnabled(tx, { workspaceId: deps.workspaceId, id }, enabled);
    return {
      answer: undefined,
      action: "updateApiKey",
      target: id,
      details: { member: apiKey.member, enabled },
    };
  });
  deps.print(`${id} is ${enabled ? "enabled" : "disabled"} now.`);
}

async function revoke(deps: CommandDeps, id: string) {
  await changeFromShell(deps, async (tx) => {
    const apiKey = await deps.access.apiKeys.revoke(tx, { workspaceId: deps.workspaceId, id });
    return { answer: undefined, action: "revokeApiKey", target: id, details: { member: apiKey.member } };
  });
  deps.print(`${id} is revoked for good.`);
}

function stateOf(key: ApiKeyRecord): string {
  if (key.revokedAt !== null) return "revoked";
  if (key.orphanedAt !== null) return "member removed";
  return key.enabled ? "enabled" : "disabled";
}
