import { describe, expect, it } from "vitest";
import { startApp } from "../../support/app.ts";
import { countRows } from "../../support/bad-input.ts";
import { databases } from "../../support/databases.ts";

describe.each(databases())("the service on %s", (engine) => {
  it("lists agents, runs them and shows what became of it", async () => {
    const app = await startApp({ engine });
    const { agents, catalog } = (await app.request("GET", "/agents")).json;
    expect(agents.map(({ name }: { name: string }) => name)).toEqual(
      agents.map(({ name }: { name: string }) => name).sort(),
    );
    expect(catalog.stale).toBe(false);

    const message = `${"Größe 😀 \u202e'\"\\\n".repeat(5_000)}end`;
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      const { json } = await app.request("POST", "/runs", { body: { agent: "hello", message } });
      ids.push(json.run_id);
      const { run } = (await app.request("GET", `/runs/${json.run_id}?wait=30`)).json;
      expect([run.status, run.output === message]).toEqual(["succeeded", true]);
    }
    const first = (await app.request("GET", "/runs?limit=3&agent=hello&environment=development")).json;
    const second = (await app.request("GET", `/runs?limit=3&before=${first.nextBefore}`)).json;
    expect([...first.runs, ...second.runs].map(({ id }) => id)).toEqual(ids.toReversed());
    const events = await (
      await fetch(`${app.url}/api/v1/runs/${ids[0]}/events`, {
        headers: { authorization: `Bearer ${app.key}` },
      })
    ).text();
    expect(events.match(/^event: .+$/gm)?.at(-1)).toBe("event: run.finished");
  });

  it("carries out one of 30 twins, and one of 30 that share a key only", async () => {
    const app = await startApp({ engine, env: { ROLLCALL_ROLES: "web,scheduler" } });
    const ask = (key: string, message: string) =>
      app.request("POST", "/runs", {
        body: { agent: "hello", message },
        headers: { "idempotency-key": key },
      });
    const twins = await Promise.all(Array.from({ length: 30 }, () => ask("twins", "m")));
    expect(new Set(twins.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(twins[0]?.status).toBe(202);
    const others = await Promise.all(Array.from({ length: 30 }, (_, index) => ask("others", `${index}`)));
    expect(others.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(others.filter(({ status }) => status === 409)).toHaveLength(29);
    expect((await app.request("GET", "/runs")).json.runs).toHaveLength(2);

    const members = await Promise.all(
      Array.from({ length: 20 }, () =>
        app.request("POST", "/members", {
          body: { login: "twin", role: "viewer" },
          headers: { "idempotency-key": "member" },
        }),
      ),
    );
    expect(new Set(members.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(members[0]?.status).toBe(201);
  });

  it("compares names by their letters' case and takes what is odd for what it is", async () => {
    const app = await startApp({ engine, env: { ROLLCALL_ROLES: "web,scheduler" } });
    await app.member("Otto", "viewer");
    expect((await app.request("POST", "/members", { body: { login: "otto", role: "viewer" } })).status).toBe(
      201,
    );
    const before = await countRows(app);
    for (const name of [
      "HELLO",
      "hello%20",
      "hèllo",
      "hello%00",
      "%ef%bf%bd",
      "%F0%9F%98%80",
      "'",
      "%25",
      "_____",
    ]) {
      expect([name, (await app.request("GET", `/agents/${name}`)).status]).toEqual([name, 404]);
      expect([name, (await app.request("GET", `/runs/${name}`)).status]).toEqual([name, 404]);
      expect((await app.request("GET", `/runs?agent=${name}`)).json.runs).toEqual([]);
    }
    for (const body of [
      { agent: "Hello" },
      { agent: "hello\0" },
      { agent: "hello " },
      { agent: "hello", message: "\ud800" },
      { agent: "\u{1f600}" },
    ]) {
      expect([400, 404]).toContain((await app.request("POST", "/runs", { body })).status);
    }
    expect(await countRows(app)).toEqual(before);
  });

  it("counts calls exactly", async () => {
    const left = 60_000 - (Date.now() % 60_000);
    const app = await startApp({ engine, env: { ROLLCALL_API_RATE_LIMIT: left < 10_000 ? "100000" : "20" } });
    const answers = await Promise.all(Array.from({ length: 40 }, () => app.request("GET", "/tools")));
    const taken = answers.filter(({ status }) => status === 200).length;
    expect(taken).toBe(left < 10_000 ? 40 : 20);
  });
});
