/** @import { AgentChangeRecord } from "./records.d.ts" */
import { ApiFailure, createApi } from "./api.js";
import { describeChange } from "./describe-change.js";
import { h, morphChildren } from "./element.js";
import { broken, createKeyGate } from "./key-gate.js";
import { findFrame, say } from "./page-frame.js";
import { createPoller, pageTimers } from "./poller.js";

const id = location.pathname.split("/").at(-1) ?? "";
const frame = findFrame();
window.addEventListener("unhandledrejection", () => say(frame, broken));
createKeyGate({ frame, start: startSession }).open();

/**
 * Shows the change with one key, until `end`.
 * @param {{ key: string, rejected: (sentence: string) => void }} given
 */
function startSession({ key, rejected }) {
  const ended = new AbortController();
  const api = createApi({ base: new URL("../api/v1/", import.meta.url), key, signal: ended.signal, fetch });
  const poller = createPoller({ look, isHidden: () => document.hidden, ...pageTimers });
  let shown = "";

  async function look() {
    try {
      const change = await api.agentChange(id);
      if (ended.signal.aborted) return { again: false, changed: false };
      const changed = JSON.stringify(change) !== shown;
      shown = JSON.stringify(change);
      draw(change);
      return { again: change.finishedAt === null, changed };
    } catch (error) {
      if (ended.signal.aborted) return { again: false, changed: false };
      if (!(error instanceof ApiFailure)) throw error;
      if (error.status === 401) {
        rejected(error.message);
        return { again: false, changed: false };
      }
      say(frame, error.message);
      return { again: error.passing, changed: false, waitMs: error.retryAfterMs };
    }
  }

  void poller.now();
  return {
    look: poller.now,
    visibilityChanged: poller.visibilityChanged,
    end() {
      ended.abort();
      poller.stop();
    },
  };
}

/** @param {AgentChangeRecord} change */
function draw(change) {
  const { state, rows, link } = describeChange(change);
  const list = rows.flatMap(({ term, text, long }) => [
    h("dt", {}, term),
    h("dd", { class: "untrusted" }, long ? h("pre", {}, text) : text),
  ]);
  const more = link && h("p", {}, h("a", { href: link.href, rel: "noreferrer" }, link.text));
  morphChildren(frame.heads, h("div", {}, h("section", { class: "head" }, h("dl", {}, ...list), more)));
  say(frame, state);
  document.title = `${state} – Rollcall`;
  frame.looked.textContent = `Looked at ${new Date().toLocaleTimeString()}`;
}
