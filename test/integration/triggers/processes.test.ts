import { describe, expect, it } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases, freshDatabase } from "../../support/databases.ts";
import { commitEvent, commits, startWithTriggers, untold } from "../../support/trigger-setup.ts";

const secret = "b".repeat(64);

describe.skipIf(!databases().includes("mysql"))("two processes on one database", () => {
  it("make one run of an event that both are sent, and one subscription of what both are told", async () => {
    const { config } = await freshDatabase("mysql", { migrated: false });
    const env = { DATABASE_URL: config.engine === "mysql" ? config.url : "", ROLLCALL_SECRET_KEY: secret };
    const setup = await startWithTriggers({ env });
    const { app, composio, addAccount, create, subscriptionOf, worked, runs } = setup;
    const second = await startApp({
      env: { ...env, COMPOSIO_BASE_URL: composio.url, ROLLCALL_ROLES: "web,worker" },
    });
    const connection = addAccount("github");
    const { id } = (await create({ connection, slug: commitEvent, config: commits })).json.trigger;
    const trigger = subscriptionOf(connection);
    const urls = [app, second].map(({ url }) => `${url}/api/hooks/integration/default`);
    const ids = Array.from({ length: 10 }, (_, n) => `msg_${n}`);
    const sent = ids.flatMap((event) =>
      urls.flatMap((url) => [url, url].map((each) => [each, event] as const)),
    );
    const answers = await Promise.all(
      sent.map(([url, event]) =>
        composio.deliver(url, { version: "V3", id: event, event: { trigger, userId: "", data: {} } }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    for (const event of ids) expect((await worked(event)).state).toBe("done");
    expect(await runs()).toHaveLength(ids.length);
    const changes = [app, second, app, second].map(({ url }, n) =>
      fetch(`${url}/api/v1/triggers/${id}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${app.key}`, "content-type": "application/json" },
        body: JSON.stringify(
          n % 2 ? { enabled: true } : { config: { owner: "acme", repo: `shop-${"ab"[n / 2]}` } },
        ),
      }),
    );
    expect((await Promise.all(changes)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const states = async () => (await app.db.read("triggers")).map(({ state }) => state);
    await expect.poll(states, { timeout: 15_000 }).toEqual(["active"]);
    expect(composio.triggers).toHaveLength(1);
    expect(await untold(setup)).toEqual([]);
  });
});
