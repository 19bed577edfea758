import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changeToEnd } from "../support/agent-change-requests.ts";
import { startApp } from "../support/app.ts";
import { type Browser, browserPath, startBrowser } from "../support/browser.ts";

const what = browserPath ? "a change's page" : "a change's page (skipped: this machine has no Chromium)";

describe.skipIf(browserPath === undefined)(what, { timeout: 30_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser(browserPath ?? "");
  });
  afterAll(() => browser?.close());

  it("asks for a key and shows how far it has come, all of it as text", async () => {
    const app = await startApp();
    const description = "<img src=x onerror=document.title='hacked'> Greets every day.";
    const { task_id } = await changeToEnd(app, { name: "greeter", description });
    const tab = await browser.newTab();
    await tab.open(`${app.url}/agent-changes/${task_id}`);
    await tab.until("!document.getElementById('key-form').hidden");
    await tab.evaluate(
      `document.getElementById("key").value = ${JSON.stringify(app.key)}; document.querySelector("#key-form button").click()`,
    );
    await tab.until(`document.getElementById("message").textContent.includes("is proposed")`);
    const text = await tab.evaluate<string>("document.body.innerText");
    for (const part of [description, "agents/ai-sdk/greeter.yaml", "1 of 1 cases passed.", "0 9 * * *"])
      expect(text).toContain(part);
    expect(await tab.evaluate<string>("document.title")).toBe(
      "The change of greeter is proposed. – Rollcall",
    );
    await tab.evaluate(`document.querySelector("[data-action=forget]").click()`);
    await tab.until("!document.getElementById('key-form').hidden");
    expect(await tab.evaluate<string>("document.body.innerText")).not.toContain("greeter.yaml");
    await tab.close();
  });
});
