import { expect, it } from "vitest";
import { createCheckout, runBundle } from "../action/run-action.ts";
import { startApp } from "../support/app.ts";
import { endedRun, postRun } from "../support/run-requests.ts";
import { evalPath, greetingLine, startPoliteModel, supportAgent } from "./polite-model.ts";

it("with a local repository and the Action: broken, mended, promoted, answered", {
  timeout: 60_000,
}, async () => {
  const app = await startApp({ files: supportAgent("Be polite."), env: await startPoliteModel() });
  const checkout = await createCheckout();
  const base = await checkout.commit(supportAgent("Be polite."));
  const act = async (instructions: string) => {
    const head = await checkout.commit(supportAgent(instructions));
    return runBundle({
      inputs: { "base-url": app.url, "api-key": app.key },
      workspace: checkout.directory,
      event: { pull_request: { base: { sha: base }, head: { sha: head } } },
    });
  };
  const promote = () => app.request("POST", "/agents/support/promote", { body: {} });

  const broken = await act("Be brief.");
  expect([broken.code, broken.outputs["failed-agents"]]).toEqual([1, '["support"]']);
  expect(broken.text).toContain(`file=${evalPath},line=${greetingLine}`);
  expect(broken.summary).toContain("greets politely");

  const mended = await act("Be brief and polite.");
  expect([mended.code, mended.outputs.passed]).toEqual([0, "true"]);

  // Of the texts that passed in the checkout nothing is promoted before they are the repository's own.
  expect((await promote()).json.details).toEqual({ reason: "evals_missing" });
  await app.commit(supportAgent("Be brief and polite."));
  expect((await promote()).json.version).toMatchObject({ number: 1, stable: true });
  const run = await endedRun(app, await postRun(app, "support", "Where is it?"));
  expect(run).toMatchObject({ version: "1", output: "Dear customer, thank you. (Where is it?)" });
});
