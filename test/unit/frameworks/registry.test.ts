import { describe, expect, it } from "vitest";
import {
  describeFailure,
  failureCodes,
  frameworkSpecs,
  loadFramework,
} from "../../../src/frameworks/index.ts";

const spec = { name: "greeter", framework: "ai-sdk", model: "offline/echo", instructions: "Greet." };

describe("the registry of frameworks", () => {
  it("has the schema of each framework's specs, defaults included", () => {
    expect(frameworkSpecs.get("ai-sdk")?.parse(spec)).toEqual({
      ...spec,
      connections: [],
      labels: [],
      parameters: { maxSteps: 20, timeoutSeconds: 300 },
      retries: 2,
    });
  });

  it.each([
    { ...spec, framework: "langgraph" },
    { ...spec, unknown: 1 },
    { ...spec, name: "Greeter" },
    { ...spec, model: "gpt-5" },
    { ...spec, connections: ["A_B", "A_B"] },
    { ...spec, parameters: { maxSteps: 51 } },
  ])("refuses %j", (bad) => {
    expect(frameworkSpecs.get("ai-sdk")?.safeParse(bad).success).toBe(false);
  });

  it("refuses to load what it does not have", async () => {
    await expect(loadFramework("crewai")).rejects.toMatchObject({ code: "invalid_spec" });
    expect(await loadFramework("ai-sdk")).toBeTypeOf("function");
  });

  it("has words for every failure", () => {
    for (const code of failureCodes) {
      const { message, recommendation } = describeFailure(code);
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(recommendation).toMatch(/^[A-Z].*\.$/);
    }
  });
});
