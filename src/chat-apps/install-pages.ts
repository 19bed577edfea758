import { type Request, type Response, Router } from "express";
import type { Installer } from "./install.ts";
import { stateMs } from "./install.ts";
import type { ChatPlatforms } from "./platforms/index.ts";
import { callbackPath, installPath } from "./present.ts";

export interface InstallPagesDeps {
  installer: Installer;
  platforms: ChatPlatforms;
  baseUrl: string;
}

const cookieName = "rollcall_chat_install";

/**
 * The two pages of an installation. Opening a link shows a button and uses nothing up: programs that preview links open
 * them, too. The button's POST leads to the platform, which leads back to the callback.
 */
export function installPages({ installer, platforms, baseUrl }: InstallPagesDeps): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const cookie = cookieFor(baseUrl);

  router.get(installPath, async (req, res) => {
    const found = req.method === "GET" ? await installer.linked(query(req, "token")) : undefined;
    if (!found) return sendPage(res, 410, "../", used);
    const { name, platform } = found.app;
    const body = `<p>This installs the chat app <strong class="untrusted">${escapeHtml(name)}</strong>. You choose the workspace there.</p>
<form method="post"><button class="primary">Continue</button></form>`;
    sendPage(res, 200, "../", { title: "Install a chat app", body }, platforms[platform].formTargets);
  });

  router.post(installPath, async (req, res) => {
    const begun = await installer.begin(query(req, "token"));
    if (!begun) return sendPage(res, 410, "../", used);
    res.set({ "Set-Cookie": cookie(begun.browser, stateMs / 1000), "Cache-Control": "no-store" });
    res.redirect(303, begun.url);
  });

  router.get(callbackPath, async (req, res) => {
    if (req.method !== "GET") return sendPage(res, 400, "../../", stale);
    const code = query(req, "error") === "" ? query(req, "code") || undefined : undefined;
    const end = await installer.finish(query(req, "state"), browserOf(req), code);
    res.set("Set-Cookie", cookie("", 0));
    switch (end.kind) {
      case "installed":
        return sendPage(res, 200, "../../", {
          title: "Installed",
          body: `<p><strong class="untrusted">${escapeHtml(end.app)}</strong> is live in <strong class="untrusted">${escapeHtml(end.team)}</strong>. Mention it there, or write to it directly. You may close this page.</p>`,
        });
      case "stale":
        return sendPage(res, 400, "../../", stale);
      case "refused":
        return sendPage(res, 409, "../../", {
          title: "Not installed",
          body: `<p>${escapeHtml(end.why)}</p>\n<p>Ask a workspace admin for another link to try again.</p>`,
        });
    }
  });
  return router;
}

interface Page {
  title: string;
  /** HTML. */
  body: string;
}

const used: Page = {
  title: "This link is used up",
  body: "<p>A link works once and for 15 minutes. Ask a workspace admin for another one.</p>",
};

const stale: Page = {
  title: "Not installed",
  body: "<p>This installation was begun in another browser, too long ago, or is finished. Ask a workspace admin for another link and open it in one go.</p>",
};

/** `root` leads back to where the service's pages are, also below a path of a proxy. */
function sendPage(
  res: Response,
  status: number,
  root: string,
  { title, body }: Page,
  targets: readonly string[] = [],
) {
  const form = targets.length === 0 ? "'none'" : ["'self'", ...targets].join(" ");
  res.status(status).set({
    "Content-Security-Policy": `default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action ${form}; frame-ancestors 'none'`,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
  res.type("html").send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} – Rollcall</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}assets/style.css">
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`);
}

const escapeHtml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** '' when it is not there exactly once. */
function query(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === "string" ? value.slice(0, 1_000) : "";
}

function browserOf(req: Request): string {
  const pairs = (req.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("=", 2));
  return pairs.find(([name]) => name === cookieName)?.[1] ?? "";
}

/** Lax, since the platform leads back from another site. */
function cookieFor(baseUrl: string) {
  const { pathname, protocol } = new URL(baseUrl === "" ? "http://localhost" : baseUrl);
  const path = pathname.replace(/\/$/, "") + callbackPath;
  const secure = protocol === "https:" ? "; Secure" : "";
  return (value: string, maxAge: number) =>
    `${cookieName}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
}
