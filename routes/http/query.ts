/**
 * The raw path and query of a request, which Hono would decode leniently, and list positions as opaque
 * cursors.
 */
import type { RequestContext } from "./context.ts";

/** Returns the text after the question mark, or the empty text. */
export function queryOf(c: RequestContext): string {
  const { url } = c.req;
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

/**
 * Returns the name in a path, percent-decoded; null when it cannot be decoded. In each path with a name
 * the name is the third segment, such as the slug of `/v1/agents/:slug/monitor`.
 */
export function nameInPath(c: RequestContext): string | null {
  const [, , , , , name = ""] = pathOf(c).split("/");
  return decoded(name);
}

/** Returns the id in a path; null for a text that is no id with the prefix. */
export function idInPath(c: RequestContext, prefix: "inc" | "whd"): string | null {
  const id = c.req.param("id") ?? "";
  return /^\w{3}_[a-z]{2}_[0-9a-f]{32}$/.test(id) && id.startsWith(`${prefix}_`) ? id : null;
}

/** Returns whether the path is percent-encoded UTF-8. */
export function isEncoded(c: RequestContext): boolean {
  return decoded(pathOf(c)) !== null;
}

/** Returns the URL without its query. */
function pathOf(c: RequestContext): string {
  return c.req.url.split("?", 1)[0] ?? "";
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

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
