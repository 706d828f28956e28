/**
 * Formats user input for messages.
 *
 * @module
 */

/** Formats a value for an error message: short, printable, on one line. */
export function show(value: unknown): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value) ?? "nothing";
  return printable(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Replaces line breaks and control characters, which a terminal or a log would interpret. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ").toWellFormed();
}

/**
 * Copies a text. A slice keeps its complete source text in memory, so text that outlives its request
 * must be copied.
 */
export function ownText<Text extends string>(text: Text): Text {
  // Concatenation allocates a new text; the slice then refers to that text alone.
  return ` ${text}`.slice(1) as Text;
}

/** Returns the first characters of a text, at most `charsMax`. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // No character takes more than two UTF-16 units.
  return Array.from(text.slice(0, 2 * charsMax)).slice(0, charsMax).join("");
}

/** Lists the allowed words for an error message. */
export function oneOfText(words: readonly string[]): string {
  return `one of ${words.map((word) => `"${word}"`).join(", ")}`;
}
