/** One measured figure beside what it is measured against. */
export interface Figure {
  what: string;
  /** SQLite, MySQL, or '' where no database matters. */
  engine: string;
  measured: string;
  target: string;
  met: boolean;
}

/** The figures as a Markdown table, ready for a note. */
export function formatTable(figures: readonly Figure[]): string {
  const rows = [
    ["what", "engine", "measured", "target", ""],
    ...figures.map((figure) => [
      figure.what,
      figure.engine,
      figure.measured,
      figure.target,
      figure.met ? "met" : "MISSED",
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  lines.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return lines.join("\n");
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);
