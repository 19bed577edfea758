import { describe, expect, it } from "vitest";
import { startApp } from "../../support/app.ts";
import { databases } from "../../support/databases.ts";
import { specText } from "../../support/run-requests.ts";

const front = "agents/openai-agents/front.json";
const back = "agents/openai-agents/back.json";
const member = (name: string, handoffs: readonly string[] = []) =>
  specText(name, { framework: "openai-agents", handoffs });

describe.each(databases())("handoffs in the catalog on %s", (engine) => {
  it("are warned of as long as they lead nowhere, though the agent's own file stays the same", async () => {
    const app = await startApp({ engine, files: { [front]: member("front", ["back"]) } });
    const told = async () => {
      const { agent } = (await app.request("GET", "/agents/front")).json;
      const listed = (await app.request("GET", "/agents")).json.agents.find(
        ({ name }: { name: string }) => name === "front",
      );
      expect(listed.warnings).toEqual(agent.warnings);
      expect(agent.valid).toBe(true);
      return (agent.warnings ?? []).map(
        ({ path, line, message }: { path: string; line: number; message: string }) =>
          `${path} ${line > 1} ${message}`,
      );
    };
    const nobody = [
      "handoffs[0] true There is no agent `back` in `agents/openai-agents`; add it, or take the handoff out.",
    ];
    expect(await told()).toEqual(nobody);
    await app.commit({ [back]: member("back") });
    expect(await told()).toEqual([]);
    await app.commit({ [back]: "name: back" });
    expect(await told()).toEqual([expect.stringContaining("The agent `back` has problems of its own")]);
    await app.commit({ [back]: null, "agents/ai-sdk/back.json": specText("back") });
    expect(await told()).toEqual([expect.stringContaining("`back` is an agent of `ai-sdk`")]);
    await app.commit({ "agents/ai-sdk/back.json": null });
    expect(await told()).toEqual(nobody);
  });

  it("are fine when one commit adds both ends", async () => {
    const app = await startApp({ engine, files: { "README.md": "Empty." } });
    await app.commit({ [back]: member("back", ["front"]), [front]: member("front", ["back"]) });
    const { agents } = (await app.request("GET", "/agents")).json;
    expect(agents.map((agent: { name: string; warnings?: unknown }) => [agent.name, agent.warnings])).toEqual(
      [
        ["back", undefined],
        ["front", undefined],
      ],
    );
  });
});
