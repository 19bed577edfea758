import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

type Json = Record<string, unknown>;

/** Where packages of Chromium and Chrome put it. */
const places = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The browser of this machine; undefined when there is none. */
export const browserPath: string | undefined = places.find((path) => existsSync(path));

/** A tab with a profile of its own, driven over the DevTools protocol. */
export interface Tab {
  /** Settles once the page is loaded. */
  open(url: string): Promise<void>;
  reload(): Promise<void>;
  /** The value of an expression in the page; a promise is waited for. */
  evaluate<T>(expression: string): Promise<T>;
  /** Settles once the expression, looked at after each change of the document, is true. */
  until(expression: string): Promise<void>;
  /** Types as a keyboard does, into what has the focus. */
  type(text: string): Promise<void>;
  press(key: "Enter" | "Tab" | "Space"): Promise<void>;
  /** Has the page's timers run as if that many milliseconds had passed; its clock stands still between two calls. */
  pass(ms: number): Promise<void>;
  /** A command of the protocol. */
  send(method: string, params?: Json): Promise<Json>;
  /** Addresses that were requested, exceptions and reports of the console, in the order of their arrival. */
  requested: string[];
  complaints: string[];
  close(): Promise<void>;
}

export interface Browser {
  newTab(): Promise<Tab>;
  close(): Promise<void>;
}

/** Starts the browser without a window. */
export async function startBrowser(path: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "rollcall-browser-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"];
  const args = [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"];
  const child = spawn(path, args, { stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  const protocol = await connect(await addressOf(child));
  return {
    newTab: () => openTab(protocol),
    async close() {
      await protocol.send("Browser.close");
      await exited;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The address of the protocol, which the browser prints when it is ready. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stderr) throw new Error("The browser's output is not read.");
    // Read to the end: a pipe that nobody reads fills up, and the browser waits.
    createInterface({ input: child.stderr }).on("line", (line) => {
      const address = /^DevTools listening on (\S+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error("The browser ended before it could be used.")));
  });
}

interface Protocol {
  send(method: string, params?: Json, sessionId?: string): Promise<Json>;
  /** Calls back for each event of a session until the session ends. */
  listen(sessionId: string, listener: (method: string, params: Json) => void): void;
}

async function connect(address: string): Promise<Protocol> {
  const socket = new WebSocket(address);
  const waiting = new Map<number, PromiseWithResolvers<Json>>();
  const listeners = new Map<string, (method: string, params: Json) => void>();
  let calls = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error, method, params, sessionId } = JSON.parse(String(data));
    if (id === undefined) listeners.get(sessionId)?.(method, params);
    else if (error) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result);
    waiting.delete(id);
  });
  socket.addEventListener("close", () => {
    for (const { reject } of waiting.values()) reject(new Error("The browser is gone."));
  });
  await once(socket, "open");
  return {
    send(method, params = {}, sessionId = undefined) {
      calls += 1;
      const answer = Promise.withResolvers<Json>();
      waiting.set(calls, answer);
      socket.send(JSON.stringify({ id: calls, method, params, sessionId }));
      return answer.promise;
    },
    listen: (sessionId, listener) => void listeners.set(sessionId, listener),
  };
}

async function openTab(protocol: Protocol): Promise<Tab> {
  const { browserContextId } = await protocol.send("Target.createBrowserContext");
  const { targetId } = await protocol.send("Target.createTarget", { url: "about:blank", browserContextId });
  const { sessionId } = await protocol.send("Target.attachToTarget", { targetId, flatten: true });
  const send = (method: string, params?: Json) => protocol.send(method, params, String(sessionId));
  const requested: string[] = [];
  const complaints: string[] = [];
  let loaded = Promise.withResolvers<void>();
  let passed = Promise.withResolvers<void>();
  protocol.listen(String(sessionId), (method, params) => {
    if (method === "Page.loadEventFired") loaded.resolve();
    if (method === "Emulation.virtualTimeBudgetExpired") passed.resolve();
    if (method === "Network.requestWillBeSent")
      requested.push((params as { request: { url: string } }).request.url);
    if (/^(Runtime\.exceptionThrown|Runtime\.consoleAPICalled|Log\.entryAdded)$/.test(method))
      complaints.push(JSON.stringify(params));
  });
  for (const domain of ["Page", "Network", "Runtime", "Log"]) await send(`${domain}.enable`);

  async function load(method: string, params?: Json): Promise<void> {
    loaded = Promise.withResolvers<void>();
    await send(method, params);
    await loaded.promise;
  }

  async function evaluate<T>(expression: string): Promise<T> {
    const options = { awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, ...options });
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return (result as { value: T }).value;
  }

  return {
    requested,
    complaints,
    send,
    evaluate,
    open: (url) => load("Page.navigate", { url }),
    reload: () => load("Page.reload"),
    async pass(ms) {
      passed = Promise.withResolvers<void>();
      await send("Emulation.setVirtualTimePolicy", { policy: "pauseIfNetworkFetchesPending", budget: ms });
      await passed.promise;
    },
    until: (expression) => evaluate(untilTrue(expression)),
    type: async (text) => void (await send("Input.insertText", { text })),
    async press(key) {
      for (const type of ["keyDown", "keyUp"]) await send("Input.dispatchKeyEvent", { type, ...keys[key] });
    },
    async close() {
      await protocol.send("Target.closeTarget", { targetId });
      await protocol.send("Target.disposeBrowserContext", { browserContextId });
    },
  };
}

const keys = {
  Enter: { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" },
  Tab: { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 },
  Space: { key: " ", code: "Space", windowsVirtualKeyCode: 32, text: " " },
};

const untilTrue = (expression: string) => `new Promise((resolve) => {
  const look = () => { if (${expression}) { observer.disconnect(); resolve(); } };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  look();
})`;
