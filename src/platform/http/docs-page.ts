import { createRequire } from "node:module";
import { dirname } from "node:path";
import { Router } from "express";
import { serveGet } from "./methods.ts";

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rollcall API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const start = `window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The OpenAPI document and a page to browse it, all from this server. Neither needs a key. The document is made
 * when it is asked for the first time: it is large, and a start does not wait for it.
 */
export function docsPage(makeDocument: () => object): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const assets = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  let json: string | undefined;
  serveGet(router, "/openapi.json", (_req, res) => {
    json ??= JSON.stringify(makeDocument());
    res.type("application/json").send(json);
  });
  serveGet(router, "/docs", (_req, res) => {
    res.setHeader("Content-Security-Policy", policy);
    res.type("html").send(page);
  });
  serveGet(router, "/docs/start.js", (_req, res) => void res.type("text/javascript").send(start));
  for (const name of ["swagger-ui.css", "swagger-ui-bundle.js"]) {
    serveGet(router, `/docs/${name}`, (_req, res) => res.sendFile(name, { root: assets, maxAge: "1h" }));
  }
  return router;
}
