/**
 * What users sent, as messages may repeat it.
 *
 * @module
 */

/** A value as an error message shows it: short, printable, on one line. */
export function show(value: unknown): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value) ?? "nothing";
  return printable(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** A text on one line, without characters that a terminal or a log would act on. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ").toWellFormed();
}

/**
 * Copies a text. A slice keeps the whole text that it was cut from in memory, so whatever outlives its
 * request must not be one.
 */
export function ownText<Text extends string>(text: Text): Text {
  // Joining makes a text of its own; cutting off what was added then makes a slice of that one.
  return ` ${text}`.slice(1) as Text;
}

/** Lists words as messages do. */
export function oneOfText(words: readonly string[]): string {
  return `one of ${words.map((word) => `"${word}"`).join(", ")}`;
}
