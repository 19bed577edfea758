import { expect, expectTypeOf, it } from "vitest";
import type { AgentChange } from "../../../src/agent-changes/schema.ts";
import { describeChange } from "../../../src/console/assets/describe-change.js";
import type { AgentChangeRecord } from "../../../src/console/assets/records.d.ts";

const change: AgentChangeRecord = {
  task_id: "chg_1",
  kind: "create",
  status: "running",
  html_url: "https://rollcall.example/agent-changes/chg_1",
  agent_path: "agents/ai-sdk/a.yaml",
  agent: "a",
  description: "Does things.",
  requestedBy: "otto",
  finishedAt: null,
};
const rowsOf = (changes: Partial<AgentChangeRecord>) =>
  Object.fromEntries(describeChange({ ...change, ...changes }).rows.map(({ term, text }) => [term, text]));

it("reads what the API answers", () => {
  expectTypeOf<AgentChange>().toExtend<AgentChangeRecord>();
});

it.each(["queued", "running", "proposed", "committed", "failed"] as const)("has words for %s", (status) => {
  expect(describeChange({ ...change, status }).state).toMatch(/^The change of a /);
});

it("leads elsewhere only when there is something, and only over the web", () => {
  const pull = "https://github.com/acme/agents/pull/1";
  expect(describeChange(change).link).toBeUndefined();
  expect(describeChange({ ...change, html_url: pull }).link).toEqual({
    href: pull,
    text: "The pull request",
  });
  expect(describeChange({ ...change, html_url: "javascript:alert(1)" }).link).toBeUndefined();
});

it("tells of evals, schedules and failures", () => {
  expect(rowsOf({})).not.toHaveProperty("Evals");
  expect(rowsOf({ evals: { status: "failed", passedCount: 1, totalCount: 2 } }).Evals).toBe(
    "1 of 2 cases passed.",
  );
  expect(
    rowsOf({ evals: { status: "skipped", passedCount: 0, totalCount: 0, reason: "No." } }).Evals,
  ).toMatch(/No\.$/);
  const suggestedAutomation = { schedule: "0 9 * * 1-5", timezone: "Europe/Berlin", message: "Go." };
  expect(rowsOf({ suggestedAutomation })["Suggested schedule"]).toMatch(
    /^0 9 \* \* 1-5 in Europe\/Berlin\. Nothing/,
  );
  expect(rowsOf({ error: "Ask again." })["Why it failed"]).toBe("Ask again.");
});
