import { startSession } from "./commit-session.js";
import { h } from "./element.js";
import { broken, createKeyGate } from "./key-gate.js";
import { findFrame, say } from "./page-frame.js";

const sha = location.pathname.split("/").at(-1) ?? "";
const frame = findFrame();
frame.title.append(" ", h("code", {}, sha.slice(0, 12)));
window.addEventListener("unhandledrejection", () => say(frame, broken));
const gate = createKeyGate({ frame, start: (given) => startSession({ sha, frame, ...given }) });

document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button[data-action=approve]") : null;
  if (button instanceof HTMLElement) void gate.session()?.approve(Number(button.dataset.number));
});
// This event does not bubble.
frame.heads.addEventListener("toggle", listenToSuites, true);
/** @param {Event} event */
function listenToSuites({ target }) {
  if (!(target instanceof HTMLDetailsElement) || target.dataset.suite === undefined) return;
  gate.session()?.suiteToggled(target.dataset.suite, target.open);
}
gate.open();
