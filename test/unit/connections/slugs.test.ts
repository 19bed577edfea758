import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolSlugs } from "../../../src/connections/mcp/slugs.ts";
import { ToolSlug } from "../../../src/frameworks/index.ts";

describe("slugs of an MCP server's tools", () => {
  test.each([
    ["docs", "search", "DOCS_SEARCH"],
    ["docs", "getPageByID", "DOCS_GET_PAGE_BY_ID"],
    ["docs", "HTMLExport2pdf", "DOCS_HTML_EXPORT2PDF"],
    ["our-wiki", "pages/list.all", "OUR_WIKI_PAGES_LIST_ALL"],
    ["docs", "  naïve--name!", "DOCS_NA_VE_NAME"],
    ["docs", "***", "DOCS"],
  ])("%s %s is %s", (server, name, slug) => {
    expect(toolSlugs(server, [name])).toEqual({ tools: [{ name, slug }], warnings: [] });
  });

  test("names that come to the same slug are told apart, and it is said", () => {
    const { tools, warnings } = toolSlugs("docs", ["get-item", "getItem", "get_item"]);
    const slugOf = (name: string) => tools.find((tool) => tool.name === name)?.slug;
    expect(slugOf("get_item")).toBe("DOCS_GET_ITEM");
    expect(slugOf("getItem")).toMatch(/^DOCS_GET_ITEM_[0-9A-F]{8}$/);
    expect(slugOf("get-item")).toMatch(/^DOCS_GET_ITEM_[0-9A-F]{8}$/);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain("DOCS_GET_ITEM belongs to");
  });

  test("a long name is cut and ends in its hash", () => {
    const name = "a".repeat(100);
    const { tools, warnings } = toolSlugs("docs", [name]);
    expect(tools[0]?.slug).toMatch(/^DOCS_A{50}_[0-9A-F]{8}$/);
    expect(warnings).toEqual([expect.stringContaining("too long")]);
  });

  test("any names give slugs that specs can use, one each, whatever their order", () => {
    const server = fc.constantFrom("docs", "a", "our-wiki");
    const names = fc.array(fc.oneof(fc.string(), fc.constantFrom("get_item", "getItem", "GET ITEM")));
    fc.assert(
      fc.property(server, names, (prefix, list) => {
        const { tools } = toolSlugs(prefix, list);
        expect(new Set(tools.map(({ name }) => name))).toEqual(new Set(list));
        expect(new Set(tools.map(({ slug }) => slug)).size).toBe(tools.length);
        for (const { slug } of tools) expect(ToolSlug.safeParse(slug).success).toBe(true);
        expect(toolSlugs(prefix, list.toReversed()).tools).toEqual(tools);
      }),
    );
  });
});
