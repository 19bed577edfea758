import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { Environment } from "../src/platform/config.ts";

const readme = new URL("../README.md", import.meta.url);
const begin = "<!-- configuration: begin (npm run docs writes this table) -->";
const end = "<!-- configuration: end -->";

/** One row for each variable that the service reads, as Markdown, in the order of the schema. */
export function configTable(): string {
  const { properties = {} } = z.toJSONSchema(Environment, { io: "input" });
  const rows = Object.entries(properties).map(([name, schema]) => {
    const { default: fallback, description = "" } = typeof schema === "object" ? schema : {};
    return [`\`${name}\``, fallback === undefined ? "" : `\`${String(fallback)}\``, description];
  });
  return [["Variable", "Default", "What it does"], ["---", "---", "---"], ...rows].map(tableLine).join("\n");
}

/** The text with the table between its two markers replaced. Throws when a marker is missing. */
export function withConfigTable(text: string, table: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`README.md needs the lines ${begin} and ${end}.`);
  return `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`;
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`.replaceAll(/ {2,}/g, " ");
}

if (import.meta.main) {
  const table = configTable();
  if (process.argv.includes("--write"))
    writeFileSync(readme, withConfigTable(readFileSync(readme, "utf8"), table));
  else console.log(table);
}
