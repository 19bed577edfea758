import { expect, it } from "vitest";
import { findTools } from "../../../src/agent-changes/find-tools.ts";

const tool = (slug: string, description: string) => ({ slug, name: slug, provider: "p", description });
const tools = [
  tool("GITHUB_LIST_ISSUES", "Lists issues of a repository."),
  tool("GITHUB_CREATE_ISSUE", "Opens an issue."),
  tool("MAIL_SEND", "Sends a message about anything, also about issues."),
  tool("CLOCK", "Tells the time."),
];

it("puts what fits most words first, slugs before descriptions", () => {
  expect(findTools(tools, "list the github issues").map(({ slug }) => slug)).toEqual([
    "GITHUB_LIST_ISSUES",
    "GITHUB_CREATE_ISSUE",
    "MAIL_SEND",
  ]);
});

it("finds nothing where nothing fits, and never more than fifteen", () => {
  expect(findTools(tools, "weather")).toEqual([]);
  expect(findTools(tools, "")).toEqual([]);
  const many = Array.from({ length: 40 }, (_, index) => tool(`MAIL_${index}`, ""));
  expect(findTools(many, "mail")).toHaveLength(15);
});
