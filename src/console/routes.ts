import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type Response, Router } from "express";
import { notFound } from "../platform/errors.ts";
import { serveGet } from "../platform/http/index.ts";
import { agentChangePage, commitPage, startPage } from "./pages.ts";
import { stylesheet } from "./stylesheet.ts";

/** No inline script or style, no other origin, and no way for a script to turn text into markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const changeId = /^chg_[0-9A-HJKMNP-TV-Z]{26}$/;
const commitId = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

interface Asset {
  type: string;
  body: string;
  etag: string;
}

/**
 * The pages `/`, `/commits/{sha}` and `/agent-changes/{task_id}` with their script and style below `/assets`. None of them needs a key, since
 * none holds data: the script asks the API with the key that its reader pastes.
 */
export function consoleRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  serveGet(router, "/", (_req, res) => sendPage(res, startPage));
  serveGet(router, "/commits/:sha", (req, res) => {
    if (!commitId.test(String(req.params.sha)))
      throw notFound("This address wants a commit's full id, in lower case.");
    sendPage(res, commitPage);
  });
  serveGet(router, "/agent-changes/:id", (req, res) => {
    if (!changeId.test(String(req.params.id)))
      throw notFound("This address wants the id of an agent change.");
    sendPage(res, agentChangePage);
  });
  for (const [name, { type, body, etag }] of readAssets()) {
    serveGet(router, `/assets/${name}`, (_req, res) => {
      // Asked for anew each time, answered with 304: modules of two releases never meet in one page.
      res.set({ "Cache-Control": "no-cache", ETag: etag, "Cross-Origin-Resource-Policy": "same-origin" });
      res.type(type).send(body);
    });
  }
  return router;
}

function sendPage(res: Response, html: string): void {
  res.set({
    "Content-Security-Policy": policy,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
  });
  res.type("html").send(html);
}

/** The compiler copies the scripts to where it puts this file, so they are beside it in a source tree as in a build. */
function readAssets(): Map<string, Asset> {
  const folder = new URL("./assets/", import.meta.url);
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  return new Map([
    ["style.css", toAsset("text/css", stylesheet)],
    ...scripts.map(
      (name) => [name, toAsset("text/javascript", readFileSync(new URL(name, folder), "utf8"))] as const,
    ),
  ]);
}

function toAsset(type: string, body: string): Asset {
  return { type, body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}
