/**
 * CSV lines as defined by RFC 4180, safe to open in a spreadsheet.
 *
 * @module
 */

/**
 * First characters of a cell that a spreadsheet would run as a formula, including full-width forms.
 * The apostrophe is included so that readers can remove the added one without ambiguity.
 */
const FORMULA = /^[=+\-@\t\r\n'＝＋－＠]/;

/** Characters that require a quoted cell. */
const SPECIAL = /[",\r\n;\t]/;

/**
 * Writes untrusted text as a cell. Text that starts like a formula gets a leading apostrophe, which
 * spreadsheets read as "this is text".
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
