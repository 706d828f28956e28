/** Numbers as forms send them. */

/** A whole number; other text stays what it is for whoever checks it, and no text is no number. */
export function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^-?\d{1,15}$/.test(trimmed) ? Number(trimmed) : trimmed;
}
