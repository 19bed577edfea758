import { expect, test } from "vitest";
import { requiredEngines } from "../../support/global-setup.ts";

test("REQUIRE_DATABASES is a list of engines in which blanks and case do not matter", () => {
  expect(requiredEngines("")).toEqual(new Set());
  expect(requiredEngines(" SQLite, mysql ,")).toEqual(new Set(["sqlite", "mysql"]));
});

test("a misspelt engine is an error, because it would require nothing", () => {
  expect(() => requiredEngines("sqlite,mysqll")).toThrow("REQUIRE_DATABASES names mysqll");
});
