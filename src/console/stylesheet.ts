/** Colours by what they are for. Every foreground is readable on `page` and on `surface`. */
export interface Palette {
  page: string;
  surface: string;
  line: string;
  text: string;
  quiet: string;
  link: string;
  good: string;
  bad: string;
  pending: string;
}

export const palettes: Readonly<Record<"light" | "dark", Palette>> = {
  light: {
    page: "#ffffff",
    surface: "#f3f5f7",
    line: "#767e87",
    text: "#1c1f23",
    quiet: "#4f5862",
    link: "#0a4fc2",
    good: "#0f5c26",
    bad: "#a81b14",
    pending: "#6f4600",
  },
  dark: {
    page: "#14171a",
    surface: "#1e2328",
    line: "#7d868f",
    text: "#e7eaed",
    quiet: "#aab2ba",
    link: "#8fb8ff",
    good: "#74d792",
    bad: "#ff9d94",
    pending: "#f0c257",
  },
};

const variables = (palette: Palette) =>
  Object.entries(palette)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(" ");

/** The style of all pages. A string, since the build compiles scripts and copies nothing. */
export const stylesheet = `:root { color-scheme: light dark; ${variables(palettes.light)} }
@media (prefers-color-scheme: dark) { :root { ${variables(palettes.dark)} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h1:focus { outline: none; }
h2 { font-size: 1.25rem; margin: 0; }
h3 { font-size: 1.0625rem; margin: 0; }
p { margin: 0.5rem 0; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.875em; }
.brand { margin: 0; }
.quiet { color: var(--quiet); }
.tone-good { color: var(--good); }
.tone-bad { color: var(--bad); }
.tone-pending { color: var(--pending); }
.tone-quiet { color: var(--quiet); }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.badge { font-weight: 600; border: 1px solid currentColor; border-radius: 1rem; padding: 0 0.625rem; }
.untrusted { unicode-bidi: isolate; }
#message { font-weight: 600; }
label { display: block; font-weight: 600; margin-bottom: 0.25rem; }
input, button { font: inherit; color: inherit; min-height: 2.75rem; padding: 0.25rem 0.75rem;
  border: 1px solid var(--line); border-radius: 0.375rem; background: var(--surface); }
input { flex: 1 1 14rem; min-width: 0; }
button { cursor: pointer; }
button[aria-disabled] { cursor: default; opacity: 0.8; }
button.primary { background: var(--link); border-color: var(--link); color: var(--page); font-weight: 600; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.head { border: 1px solid var(--line); border-radius: 0.5rem; padding: 1rem; margin: 1rem 0; }
.agent { border-top: 1px solid var(--line); padding-top: 0.75rem; margin-top: 0.75rem; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: 0.125rem 1rem; margin: 0.75rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
summary { cursor: pointer; min-height: 2.75rem; padding: 0.5rem 0; }
details > div { padding-left: 1rem; }
.case { border-top: 1px dashed var(--line); }
.case ul { margin: 0.25rem 0; padding-left: 1.25rem; }
pre { margin: 0.25rem 0 0.75rem; padding: 0.625rem; max-height: 24rem; overflow: auto; white-space: pre-wrap;
  background: var(--surface); border: 1px solid var(--line); border-radius: 0.375rem; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.375rem; } details > div { padding-left: 0.5rem; } }
`;
