import { describe, expect, test } from "vitest";
import { keysCommand } from "../../../src/cli/keys.ts";
import { membersCommand } from "../../../src/cli/members.ts";
import { ownedKinds } from "../../../src/composition/owned-kinds.ts";
import { createDispatches } from "../../../src/dispatches/index.ts";
import { createIds } from "../../../src/platform/ids.ts";
import { createJobQueue } from "../../../src/platform/jobs/index.ts";
import { insertWebhook } from "../../../src/webhooks/store.ts";
import { databases, useDatabase } from "../../support/databases.ts";
import { setUpWorkspace } from "../../support/workspace.ts";

describe.each(databases())("members and keys on the command line, %s", (engine) => {
  const database = useDatabase(engine);

  async function world() {
    const workspace = await setUpWorkspace(database.db);
    const shared = { ...workspace, db: database.db, ids: createIds(), clock: Date.now };
    const queue = createJobQueue(shared.db, shared.ids, shared.clock);
    const kinds = ownedKinds({ ...shared, queue, dispatches: createDispatches(shared) });
    const commands = { members: membersCommand, keys: keysCommand };
    /** Runs a command line and returns its exit code and what it printed. */
    async function run(name: keyof typeof commands, ...args: string[]) {
      const printed: string[] = [];
      const print = (text: string) => void printed.push(text);
      const code = await commands[name](args, { ...shared, kinds, print });
      return { code, text: printed.join("\n") };
    }
    return { ...workspace, db: database.db, run };
  }

  test("members are added, changed, listed and removed", async () => {
    const { db, run } = await world();
    expect((await run("members", "add", "vera", "viewer")).code).toBe(0);
    expect((await run("members", "role", "vera", "operator")).text).toContain("it was viewer");
    const { text } = await run("members", "list");
    expect(text.split("\n").map((line) => line.split(/ +/).slice(0, 2))).toEqual([
      ["LOGIN", "ROLE"],
      ["admin", "workspace_admin"],
      ["vera", "operator"],
    ]);
    expect((await run("members", "remove", "vera")).code).toBe(0);
    const audit = await db.read("audit_log").where({ via: "cli" }).orderBy("id");
    expect(audit.map(({ actor, action, target }) => [actor, action, target])).toEqual([
      ["rollcall:cli", "addMember", "vera"],
      ["rollcall:cli", "changeMemberRole", "vera"],
      ["rollcall:cli", "removeMember", "vera"],
    ]);
  });

  test("what a removed member owns is stopped, or given to another one", async () => {
    const { db, run, workspaceId } = await world();
    const webhooks = async () => db.read("webhooks").orderBy("id").select("owner", "enabled");
    for (const [index, login] of ["olga", "otto"].entries()) {
      await run("members", "add", login, "operator");
      const fixed = {
        agent: "digest",
        name: "Push",
        signing_secret: null,
        tools: null,
        last_called_at: null,
      };
      const numbers = { enabled: 1, failing: 0, created_at: 1, updated_at: 1 } as const;
      const row = { id: `whk_${index}`, workspace_id: workspaceId, owner: login, token_hash: `${index}` };
      await db.transaction((tx) => insertWebhook(tx, { ...row, ...fixed, ...numbers }));
    }
    const given = await run("members", "remove", "olga", "--to", "otto");
    expect(given).toMatchObject({ code: 0, text: expect.stringContaining("Given to otto: 1.") });
    expect(await webhooks()).toEqual([
      { owner: "otto", enabled: 1 },
      { owner: "otto", enabled: 1 },
    ]);
    expect(await run("members", "remove", "otto", "--to", "nobody")).toMatchObject({ code: 1 });
    expect(await run("members", "list", "--to", "admin")).toMatchObject({ code: 2 });
    const stopped = await run("members", "remove", "otto");
    expect(stopped).toMatchObject({ code: 0, text: expect.stringContaining("Stopped what they owned: 2.") });
    expect((await webhooks()).map(({ enabled }) => enabled)).toEqual([0, 0]);
  });

  test("a key is printed once and can be disabled, enabled and revoked", async () => {
    const { access, run, db } = await world();
    const made = await run("keys", "create", "my laptop", "--member", "admin");
    const key = /^rck_\w{36}$/m.exec(made.text)?.[0] ?? "";
    const { keyId } = await access.authenticate(`Bearer ${key}`);
    expect(made.text).toContain(keyId);
    const state = async () => {
      const { text } = await run("keys", "list", "--member", "admin");
      expect(text).not.toContain(key);
      return text.split("\n").find((line) => line.startsWith(keyId));
    };
    expect(await state()).toContain("enabled");
    expect((await run("keys", "disable", keyId)).code).toBe(0);
    expect(await state()).toContain("disabled");
    expect((await run("keys", "enable", keyId)).code).toBe(0);
    expect((await run("keys", "revoke", keyId)).code).toBe(0);
    expect(await state()).toContain("revoked");
    await expect(access.authenticate(`Bearer ${key}`)).rejects.toMatchObject({ status: 401 });
    expect(JSON.stringify(await db.read("audit_log"))).not.toContain(key);
    await access.stop();
  });

  test("a refusal is explained and exits with 1", async () => {
    const { run } = await world();
    const refused = [
      ["members", "remove", "admin"],
      ["members", "role", "nobody", "viewer"],
      ["members", "add", "admin", "viewer"],
      ["keys", "create", "x", "--member", "nobody"],
      ["keys", "revoke", "key_unknown"],
    ] as const;
    for (const [name, ...args] of refused) {
      const { code, text } = await run(name, ...args);
      expect([args, code]).toEqual([args, 1]);
      expect(text).not.toContain("Usage");
    }
  });

  test("wrong usage prints the usage and exits with 2", async () => {
    const { db, run } = await world();
    const wrong = [
      ["members"],
      ["members", "list", "all"],
      ["members", "add", "vera"],
      ["members", "add", "vera", "owner"],
      ["members", "add", "not a login", "viewer"],
      ["members", "rename", "a", "b"],
      ["members", "list", "--all"],
      ["keys"],
      ["keys", "create", "x"],
      ["keys", "create", "", "--member", "admin"],
      ["keys", "create", "--member", "admin"],
      ["keys", "create", "x", "--member"],
      ["keys", "revoke"],
      ["keys", "revoke", "a", "--member", "admin"],
    ] as const;
    for (const [name, ...args] of wrong) {
      const { code, text } = await run(name, ...args);
      expect([name, args, code]).toEqual([name, args, 2]);
      expect(text).toContain(`Usage: rollcall ${name} list`);
    }
    expect(await db.read("members")).toHaveLength(1);
  });
});
