/** Places in a list as the opaque text of a cursor. */

/** Writes a place. */
export function encodeCursor(place: string): string {
  return new TextEncoder().encode(place).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Reads what {@link encodeCursor} wrote, or answers null. */
export function decodeCursor(cursor: string): string | null {
  try {
    const bytes = Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
