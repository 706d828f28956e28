/**
 * Lines of CSV as RFC 4180 has them, safe to open in a spreadsheet.
 *
 * @module
 */

/**
 * How a cell begins that a spreadsheet would run as a formula, also written full-width. The apostrophe is
 * among them so that the one put in front can be taken off again without doubt.
 */
const FORMULA = /^[=+\-@\t\r\n'＝＋－＠]/;

/** What must not stand in a cell without quotes around it. */
const SPECIAL = /[",\r\n;\t]/;

/**
 * Writes a text that somebody sent as a cell. One that begins as a formula does gets an apostrophe in
 * front, which spreadsheets take for "this is text".
 */
export function textCell(text: string): string {
  return cell(FORMULA.test(text) ? `'${text}` : text);
}

/** Writes a line of cells that are already safe. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

function cell(text: string): string {
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
