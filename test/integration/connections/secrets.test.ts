import { describe, expect, test } from "vitest";
import { maskedToken } from "../../support/composio-simulator.ts";
import { databases, tableNames } from "../../support/databases.ts";
import { startWithOutsideTools } from "../../support/outside-tools.ts";

describe.each(databases())("planted secrets on %s", (engine) => {
  test("are in no answer, log, event or column, whatever goes wrong", async () => {
    const { app, composio, mcp, model, configure, addAccount, callTool } = await startWithOutsideTools({
      engine,
    });
    const token = mcp.token ?? "";
    const secrets = [composio.apiKey, composio.secret, token, maskedToken];
    const answers: string[] = [];
    const ask = async (method: string, path: string, body?: unknown) => {
      const { text, json } = await app.request(method, path, body === undefined ? {} : { body });
      answers.push(text);
      return json;
    };
    await configure();
    addAccount("github", "ACTIVE");
    await ask("GET", "/settings");
    await ask("GET", "/tools");
    await ask("GET", "/connections");
    await ask("POST", "/connections/github/link");
    const [issue] = composio.tools;
    // Tools that give back what they were called with, header and key included.
    Object.assign(issue ?? {}, {
      run: () => ({ successful: true, data: { leaked: `${composio.apiKey} ${composio.secret} ${token}` } }),
    });
    await callTool("GITHUB_CREATE_ISSUE");
    Object.assign(issue ?? {}, {
      run: () => ({ successful: false, error: `key ${composio.apiKey} is bad` }),
    });
    await callTool("GITHUB_CREATE_ISSUE");
    Object.assign(mcp.tools[0] ?? {}, {
      call: () => ({ isError: true, content: [{ type: "text", text: `Bearer ${token}` }] }),
    });
    await callTool("DOCS_SEARCH_PAGES");
    // Everything fails, in the words of a server that repeats what it was sent.
    composio.apiKey = "ak_changed_at_the_provider";
    await callTool("GITHUB_CREATE_ISSUE", {}, "fatal");
    mcp.token = "another-token-than-configured";
    await callTool("DOCS_SEARCH_PAGES", {}, "fatal");
    await app.db.transaction((tx) => tx("provider_documents").update({ refresh_at: 0 }));
    await ask("GET", "/tools");
    await ask("GET", "/connections");
    await ask("POST", "/connections/github/link");
    await ask("PATCH", "/settings", { integration: { webhookSecret: null } });
    for (const { id } of (await ask("GET", "/runs")).runs) {
      await ask("GET", `/runs/${id}`);
      const events = await fetch(`${app.url}/api/v1/runs/${id}/events`, {
        headers: { authorization: `Bearer ${app.key}` },
      });
      answers.push(await events.text());
    }
    const tables = await tableNames(app.db);
    const rows = await Promise.all(tables.map((table) => app.db.read(table)));
    const stored = JSON.stringify(rows);
    // What is searched is really there.
    expect(stored).toContain("GITHUB_CREATE_ISSUE");
    expect(answers.join()).toContain("[redacted]");
    expect(model.left()).toBe(0);
    expect(stored).toContain("MCP server docs failed");
    const places = { answers: answers.join("\n"), logs: app.logs().join("\n"), stored };
    for (const [place, text] of Object.entries(places)) {
      for (const secret of [...secrets, maskedToken.slice(0, 4)])
        expect(text.includes(secret), place).toBe(false);
    }
    expect(JSON.stringify(await app.db.read("provider_documents"))).toContain('\\"status\\":\\"active\\"');
  });
});
