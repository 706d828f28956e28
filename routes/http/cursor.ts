/** Encodes list positions as opaque cursors. */

/** Encodes a position. */
export function encodeCursor(position: string): string {
  return new TextEncoder().encode(position).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Decodes a cursor of {@link encodeCursor}; null when it is malformed. */
export function decodeCursor(cursor: string): string | null {
  try {
    const bytes = Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
