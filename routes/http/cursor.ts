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

/** Position in a list by time. */
export interface TimePlace {
  /** Time, unix milliseconds. */
  readonly at: number;
  /** Identifier, which distinguishes items of the same millisecond. */
  readonly id: string;
}

/** Encodes a position in a list by time. */
export function timeCursor({ at, id }: TimePlace): string {
  return encodeCursor(`${at} ${id}`);
}

/** Decodes a cursor of {@link timeCursor} whose ids have a prefix; null when it is invalid. */
export function parseTimeCursor(cursor: string, prefix: "inc" | "whd"): TimePlace | null {
  const match = /^(\d{1,16}) (\w{3})(_[a-z]{2}_[0-9a-f]{32})$/.exec(decodeCursor(cursor) ?? "");
  const [, at, start, rest] = match ?? [];
  return start === prefix ? { at: Number(at), id: `${start}${rest}` } : null;
}
