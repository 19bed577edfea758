import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EvalSuite } from "../../src/evals/schema.ts";
import { forbidden, notFound, tooMany, unavailable } from "../../src/platform/errors.ts";
import type { PullRequestHead } from "../../src/pull-requests/schema.ts";
import { type Browser, browserPath, startBrowser, type Tab } from "../support/browser.ts";
import { agentRecord, headRecord, sha, suiteRecord } from "../support/console-records.ts";
import { useConsole } from "../support/console-server.ts";

interface AccessibleNode {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
}

const what = browserPath ? "a commit's page" : "a commit's page (skipped: this machine has no Chromium)";

describe.skipIf(browserPath === undefined)(what, { timeout: 10_000 }, () => {
  const server = useConsole();
  let browser: Browser;
  let tab: Tab;
  beforeAll(async () => {
    browser = await startBrowser(browserPath ?? "");
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    tab = await browser.newTab();
    show();
  });
  afterEach(() => tab.close());

  const show = (changes: Partial<PullRequestHead> = {}) => {
    server().canned.heads = [{ ...headRecord(), ...changes } as PullRequestHead];
  };
  const putSuite = (changes: object = {}) => {
    const own = { id: "evl_head", agent: "refunds", commitSha: sha, source: "pull_request", runAs: "maria" };
    const { createdAt, finishedAt } = headRecord();
    const suite = {
      ...own,
      ...suiteRecord(),
      cached: false,
      createdAt,
      finishedAt,
      statusPost: { state: "none" },
    };
    const cases = suite.cases.map((each) => ({ ...each, passed: each.status === "passed" }));
    server().canned.suites.set("evl_head", EvalSuite.parse({ ...suite, cases, ...changes }));
  };
  const openPage = () => tab.open(`${server().url}/commits/${sha}`);
  const text = () => tab.evaluate<string>("document.body.innerText");
  const message = (part: string) =>
    tab.until(`document.getElementById("message").textContent.includes(${JSON.stringify(part)})`);
  const asksForKey = "!document.getElementById('key-form').hidden";
  /** Role and name of what a screen reader offers to use, in its order. */
  const named = async () => {
    const { nodes } = (await tab.send("Accessibility.getFullAXTree")) as { nodes: AccessibleNode[] };
    return nodes
      .filter(
        ({ ignored, role }) =>
          !ignored && /^(link|button|textbox|status|region|Disclosure.*)$/.test(role?.value ?? ""),
      )
      .map(({ role, name }) => `${role?.value}: ${name?.value ?? ""}`);
  };
  const signIn = async (key = server().keys.operator) => {
    await openPage();
    await tab.until(asksForKey);
    await tab.type(key);
    await tab.press("Enter");
  };

  it("asks for a key once, and shows the results with it until it is forgotten", async () => {
    await signIn();
    await message("Pull request 12: failed.");
    expect(await text()).toContain("Head: 1 of 2 cases passed");
    expect(await text()).toContain("Base: 2 of 2 cases passed");
    await tab.reload();
    await message("Pull request 12: failed.");
    expect(await tab.evaluate(asksForKey)).toBe(false);

    await tab.evaluate("document.querySelector('[data-action=forget]').click()");
    await message("The key is forgotten.");
    expect(await text()).not.toContain("refunds");
    await tab.reload();
    await tab.until(asksForKey);
  });

  it("keeps the key out of addresses, the field and every lasting place", async () => {
    await signIn();
    await message("failed");
    const { operator } = server().keys;
    const places = await tab.evaluate<string>(
      "JSON.stringify([document.documentElement.outerHTML, document.getElementById('key').value, location.href, {...localStorage}, document.cookie])",
    );
    expect(places).not.toContain(operator);
    expect(await tab.evaluate("Object.values(sessionStorage)")).toEqual([operator]);
    expect(tab.requested.some((url) => url.includes("/api/v1/pull-requests?"))).toBe(true);
    for (const url of [...tab.requested, ...server().requests]) expect(url).not.toContain(operator);
    expect(tab.complaints).toEqual([]);
  });

  it("shows what others wrote as text, whatever it is", async () => {
    const trick = "<img src=x onerror='window.tricked = 1'><script>window.tricked = 1</script>&lt;b&gt;";
    const problem = { path: trick, line: 1, column: 2, message: trick };
    const agents = [agentRecord({ agent: trick }), agentRecord({ path: trick, outcome: "invalid", problem })];
    show({ agents, author: trick, reason: trick, baseRef: trick, mergeBranch: trick, number: null });
    const [, evalCase] = suiteRecord().cases;
    putSuite({
      cases: [{ ...evalCase, passed: false, name: trick, input: trick, output: trick, judgeReason: trick }],
      error: trick,
    });
    await signIn();
    await tab.until("document.querySelector('details')");
    await tab.evaluate("document.querySelector('summary').click()");
    await tab.until("document.querySelector('pre')");
    expect((await text()).split(trick).length - 1).toBeGreaterThanOrEqual(13);
    expect(
      await tab.evaluate("document.images.length + document.body.querySelectorAll('script, b').length"),
    ).toBe(0);
    expect(await tab.evaluate("window.tricked")).toBeUndefined();
    expect(tab.complaints).toEqual([]);
  });

  it("opens a suite by keyboard and shows its cases, the failed one at once", async () => {
    putSuite();
    await signIn();
    await tab.until("document.querySelector('summary')");
    await tab.evaluate("document.querySelector('summary').focus()");
    await tab.press("Enter");
    await tab.until("document.querySelector('.case')");
    const shown = await text();
    for (const part of [
      "1 of 2 cases passed, version draft",
      "greets",
      "Go away.",
      "contains “away”",
      "The answer is rude.",
    ])
      expect(shown).toContain(part);
    expect(shown).not.toContain("Good day.");
    expect(await tab.evaluate("document.activeElement.textContent")).toBe("Cases of refunds");
  });

  it("follows what is not final until it is, and keeps what the reader has open", async () => {
    const running = agentRecord({ status: "running", passedCount: 0 });
    show({ state: "running", agents: [running], finishedAt: null });
    putSuite({ status: "running", passedCount: 0 });
    await signIn();
    await message("Pull request 12: running.");
    await tab.evaluate("document.querySelector('summary').click()");
    await tab.until("document.querySelector('.case')");
    await tab.evaluate(
      "window.kept = document.querySelector('details'); kept.querySelector('summary').focus()",
    );

    show({ state: "success", agents: [agentRecord({ status: "passed", passedCount: 2 })] });
    putSuite({ status: "passed", passedCount: 2 });
    await tab.pass(40_000);
    await message("Pull request 12: passed.");
    await tab.until("document.body.innerText.includes('2 of 2 cases passed, version draft')");
    expect(
      await tab.evaluate("kept.isConnected && kept.open && document.activeElement === kept.firstChild"),
    ).toBe(true);

    const before = server().requests.length;
    await tab.pass(600_000);
    expect(server().requests.length).toBe(before);
  });

  it("asks for nothing while it is hidden, and at once when it is seen again", async () => {
    show({ state: "running", finishedAt: null });
    await signIn();
    await message("running");
    await tab.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })");
    await tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    const before = server().requests.length;
    await tab.pass(600_000);
    expect(server().requests.length).toBe(before);

    show();
    await tab.evaluate("delete document.hidden");
    await tab.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await tab.pass(1_000);
    await message("failed");
  });

  it("lets an operator approve a commit, once", async () => {
    show({ state: "awaiting_approval", fork: true, agents: [], finishedAt: null });
    await signIn();
    await message("waiting for approval");
    await tab.evaluate("document.querySelector('[data-action=approve]').focus()");
    await tab.press("Enter");
    await message("looking for changed agents");
    expect(await text()).toMatch(/Approved by\s+olga/);
    expect(await tab.evaluate("document.querySelector('[data-action=approve]')")).toBeNull();
    expect(await tab.evaluate("document.activeElement.id")).toBe("title");
    const writes = server().requests.filter((request) => !request.startsWith("GET"));
    expect(writes).toEqual(["POST /api/v1/pull-requests/12/approve"]);
  });

  it("tells a viewer who may approve", async () => {
    show({ state: "awaiting_approval", fork: true, agents: [], finishedAt: null });
    await signIn(server().keys.viewer);
    await tab.until("document.querySelector('[data-action=approve]')");
    await tab.evaluate("document.querySelector('[data-action=approve]').click()");
    await tab.until("document.querySelector('[role=alert]')");
    expect(await text()).toContain("This needs the role operator; ask a workspace admin for it.");
    expect(await tab.evaluate("document.querySelector('[data-action=approve]')")).toBeNull();
  });

  it("asks for another key when one is not accepted", async () => {
    await signIn("rck_unknown");
    await message("This API key is unknown");
    await tab.until(`${asksForKey} && document.activeElement.id === "key"`);
    expect(await tab.evaluate("sessionStorage.length")).toBe(0);
    await tab.type("two words");
    await tab.press("Enter");
    await message("does not look like an API key");
  });

  it.each([
    [forbidden("This needs the role viewer; ask a workspace admin for it."), "This needs the role viewer"],
    [notFound("Nothing is here."), "Nothing is here."],
  ])("says one sentence and stops: %s", async (failure, sentence) => {
    server().canned.failure = failure;
    await signIn();
    await message(sentence);
    const before = server().requests.length;
    await tab.pass(600_000);
    expect(server().requests.length).toBe(before);
  });

  it.each([
    [tooMany("Slower.", 7), "This key has sent too many requests; wait a moment.", 6_000],
    [unavailable("The database is away."), "Rollcall cannot answer right now; it may in a moment.", 2_000],
  ])("says one sentence and goes on, not too soon: %s", async (failure, sentence, patience) => {
    server().canned.failure = failure;
    await signIn();
    await message(sentence);
    server().canned.failure = undefined;
    const before = server().requests.length;
    await tab.pass(patience);
    expect(server().requests.length).toBe(before);
    await tab.pass(2_000);
    await message("failed");
  });

  it("says that no pull request is known", async () => {
    server().canned.heads = [];
    await signIn();
    await message("No pull request with this commit at its head is known here.");
  });

  it("admits it when an answer is nothing that it knows", async () => {
    const source = "window.fetch = async () => new Response('{}')";
    await tab.send("Page.addScriptToEvaluateOnNewDocument", { source });
    await signIn();
    await message("This page is broken; reload it");
  });

  it("fits a phone and has dark colours", async () => {
    const output = "a-word-without-an-end-".repeat(40);
    show({ reason: output, agents: [agentRecord({ agent: output, path: output })] });
    putSuite({ error: output });
    await tab.send("Emulation.setDeviceMetricsOverride", {
      width: 320,
      height: 640,
      deviceScaleFactor: 2,
      mobile: true,
    });
    await signIn();
    await tab.until("document.querySelector('summary')");
    await tab.evaluate("document.querySelector('summary').click()");
    await tab.until("document.querySelector('.case')");
    expect(await tab.evaluate("document.scrollingElement.scrollWidth")).toBe(320);
    const ground = "getComputedStyle(document.body).backgroundColor";
    expect(await tab.evaluate(ground)).toBe("rgb(255, 255, 255)");
    const features = [{ name: "prefers-color-scheme", value: "dark" }];
    await tab.send("Emulation.setEmulatedMedia", { features });
    expect(await tab.evaluate(ground)).toBe("rgb(20, 23, 26)");
  });

  it("names everything that can be used, and says its state aloud", async () => {
    show({ state: "awaiting_approval", fork: true, finishedAt: null });
    await openPage();
    await tab.until(asksForKey);
    expect(await named()).toEqual(expect.arrayContaining(["textbox: API key", "button: Show results"]));
    await tab.type(server().keys.operator);
    await tab.press("Enter");
    await message("waiting for approval");
    expect(await named()).toEqual([
      "status: ",
      "link: Rollcall",
      "button: Look again",
      "button: Forget key",
      "region: Pull request 12",
      "button: Approve this commit",
      "DisclosureTriangle: Cases of refunds",
      "DisclosureTriangle: Cases of refunds on the base",
    ]);
    expect(await tab.evaluate("document.getElementById('message').ariaLive")).toBe("polite");
  });

  it("is a sentence where scripts are off", async () => {
    await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
    await openPage();
    const { root } = (await tab.send("DOM.getDocument", { depth: -1 })) as { root: { nodeId: number } };
    const { nodeId } = await tab.send("DOM.querySelector", { nodeId: root.nodeId, selector: "noscript p" });
    expect(nodeId).toBeGreaterThan(0);
    expect((await named()).filter((each) => /textbox|button/.test(each))).toEqual([]);
  });
});
