/** @import { Frame } from "./page-frame.js" */
import { createKeyStore, keyIn } from "./key-store.js";
import { say } from "./page-frame.js";

/**
 * What a page shows with one key, until `end`.
 * @typedef {{ look: () => unknown, visibilityChanged: () => void, end: () => void }} Session
 */

/**
 * Asks for a key unless there is one, and shows the page with it until it is forgotten or refused.
 * @template {Session} S
 * @param {object} options
 * @param {Frame} options.frame
 * @param {(given: { key: string, rejected: (sentence: string) => void }) => S} options.start
 */
export function createKeyGate({ frame, start }) {
  const keys = createKeyStore(() => sessionStorage);
  /** @type {S | undefined} */
  let session;

  function open() {
    const key = keys.read();
    if (key === null) {
      ask("");
      return;
    }
    frame.form.hidden = true;
    frame.toolbar.hidden = false;
    session = start({ key, rejected: forget });
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
  });
  document.addEventListener("visibilitychange", () => session?.visibilityChanged());
  return { open, session: () => session };
}

/** Words for the reader when something else is wrong than what the API says. */
export const broken = "This page is broken; reload it, and tell a workspace admin if that does not help.";
