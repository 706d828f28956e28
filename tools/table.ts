/** Markdown tables, aligned to read well on a terminal. */

/** Formats a table. Columns whose cells all start like numbers are right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? "").length))
  );
  const right = head.map((_, column) =>
    rows.every((row) => /^(-|[<>]?\s*\d)/.test(row[column] ?? "-"))
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => pad(cells[i] ?? "", width, right[i] ?? false)).join(" | ")} |`;
  const rule = widths.map((width, i) => right[i] ? `${"-".repeat(width - 1)}:` : "-".repeat(width));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

function pad(text: string, width: number, right: boolean): string {
  return right ? text.padStart(width) : text.padEnd(width);
}

/** Formats a number with thousands separators; `-` for a missing value. */
export function number(value: number | null, decimals = 0): string {
  if (value === null || !Number.isFinite(value)) return "-";
  return value.toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}
