/** Strong tags: the hash of what is answered, so that a client is not sent again what it has. */
import { createHash } from "node:crypto";
import type { RequestContext } from "./context.ts";

/** Hex digits of a tag: 128 bits. */
const TAG_CHARS = 32;

/** The tag of a text, or of its bytes. */
export function tagOf(text: string | Uint8Array): string {
  return `"${createHash("sha256").update(text).digest("hex").slice(0, TAG_CHARS)}"`;
}

/** Whether the client names these bytes; a proxy that compresses them makes the tag a weak one. */
export function isKnown(c: RequestContext, tag: string): boolean {
  const sent = c.req.raw.headers.get("if-none-match");
  if (sent === null) return false;
  return sent.trim() === "*" ||
    sent.split(",").some((each) => each.trim().replace(/^W\//, "") === tag);
}
