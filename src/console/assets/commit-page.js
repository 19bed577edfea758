import { startSession } from "./commit-session.js";
import { h } from "./element.js";
import { createKeyStore, keyIn } from "./key-store.js";
import { findFrame, say } from "./page-frame.js";

const sha = location.pathname.split("/").at(-1) ?? "";
const frame = findFrame();
frame.title.append(" ", h("code", {}, sha.slice(0, 12)));
window.addEventListener("unhandledrejection", () =>
  say(frame, "This page is broken; reload it, and tell a workspace admin if that does not help."),
);
createKeyGate().open();

/** Asks for a key unless there is one, and shows the commit with it until it is forgotten or refused. */
function createKeyGate() {
  const keys = createKeyStore(() => sessionStorage);
  /** @type {ReturnType<typeof startSession> | undefined} */
  let session;

  function open() {
    const key = keys.read();
    if (key === null) {
      ask("");
      return;
    }
    frame.form.hidden = true;
    frame.toolbar.hidden = false;
    session = startSession({ sha, key, frame, rejected: forget });
  }

  /** @param {string} sentence why a key is asked for, if it is not for the first time */
  function ask(sentence) {
    session?.end();
    session = undefined;
    frame.heads.replaceChildren();
    frame.looked.textContent = "";
    frame.toolbar.hidden = true;
    frame.form.hidden = false;
    say(frame, sentence);
    frame.key.focus();
  }

  /** @param {string} sentence */
  function forget(sentence) {
    keys.forget();
    ask(sentence);
  }

  frame.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = keyIn(frame.key.value);
    if (key === undefined) return say(frame, "This does not look like an API key; paste it whole.");
    frame.key.value = "";
    keys.keep(key);
    say(frame, "");
    open();
    frame.title.focus();
  });
  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button[data-action]") : null;
    if (!(button instanceof HTMLElement)) return;
    if (button.dataset.action === "forget") forget("The key is forgotten.");
    if (button.dataset.action === "look") void session?.look();
    if (button.dataset.action === "approve") void session?.approve(Number(button.dataset.number));
  });
  // This event does not bubble.
  frame.heads.addEventListener("toggle", listenToSuites, true);
  /** @param {Event} event */
  function listenToSuites({ target }) {
    if (!(target instanceof HTMLDetailsElement) || target.dataset.suite === undefined) return;
    session?.suiteToggled(target.dataset.suite, target.open);
  }
  document.addEventListener("visibilitychange", () => session?.visibilityChanged());
  return { open };
}
