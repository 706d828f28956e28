/**
 * Formats JSON as `deno fmt` does: a value that fits into a line is one line, so that diffs are
 * short.
 */

const LINE_WIDTH = 100;
const INDENT = "  ";

/** Formats a value as JSON with a newline at its end. */
export function layOut(value: unknown): string {
  return `${lines(value, "", 0)}\n`;
}

/** @param used columns of the line before and after the value */
function lines(value: unknown, indent: string, used: number): string {
  const flat = oneLine(value);
  const isWide = indent.length + used + flat.length > LINE_WIDTH;
  if (typeof value !== "object" || value === null || !isWide) return flat;
  const inner = indent + INDENT;
  const [open, parts, close] = Array.isArray(value)
    ? ["[", value.map((item) => lines(item, inner, 1)), "]"]
    : ["{", Object.entries(value).map(([key, item]) => member(key, item, inner)), "}"];
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

function member(key: string, item: unknown, indent: string): string {
  const start = `${JSON.stringify(key)}: `;
  return start + lines(item, indent, start.length + 1);
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) =>
    `${JSON.stringify(key)}: ${oneLine(item)}`
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
