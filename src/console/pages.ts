/** Addresses are relative, so that the pages also work below a path of a proxy. `root` leads back to it. */
const layout = (root: string, title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}assets/style.css">
${body}</html>
`;

/** What somebody sees who opens the service in a browser. */
export const startPage = layout(
  "",
  "Rollcall",
  `</head>
<body>
<main>
<h1>Rollcall</h1>
<p>This server looks after AI agents that are kept as spec files in a Git repository: it runs them, evaluates them
in pull requests and decides which version is stable.</p>
<ul>
<li><a href="api/v1/docs">API</a>: every operation, to read and to try. A workspace admin gives you a key.</li>
<li>Evals of a pull request: follow the link of the commit status <code>rollcall/evals</code>. It leads to
<code>commits/&lt;commit id&gt;</code> here.</li>
</ul>
</main>
</body>
`,
);

/** The frame of a page that knows nothing of its record; the script reads the id from the address. */
const recordPage = (script: string, heading: string, what: string) =>
  layout(
    "../",
    `${heading} – Rollcall`,
    `<script type="module" src="../assets/${script}"></script>
</head>
<body>
<main>
<p class="brand"><a href="../">Rollcall</a></p>
<h1 id="title" tabindex="-1">${heading}</h1>
<noscript><p>This page needs JavaScript, and an API key of this server, to show ${what}.</p></noscript>
<p id="message" role="status" aria-live="polite"></p>
<form id="key-form" autocomplete="off" hidden>
<label for="key">API key</label>
<div class="row">
<input id="key" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" required aria-describedby="key-hint">
<button>Show results</button>
</div>
<p id="key-hint" class="quiet">It stays in this tab until you close it or choose “Forget key”.</p>
</form>
<div id="toolbar" class="row" hidden>
<button type="button" data-action="look">Look again</button>
<button type="button" data-action="forget">Forget key</button>
<span id="looked" class="quiet"></span>
</div>
<div id="heads"></div>
</main>
</body>
`,
  );

export const commitPage = recordPage(
  "commit-page.js",
  "Evals of a commit",
  "what the evals of this commit found",
);

export const agentChangePage = recordPage(
  "agent-change-page.js",
  "Agent change",
  "how far this change of an agent has come",
);
