/** Strong ETags: hashes of response bodies, so that clients can revalidate their copies. */
import { createHash } from "node:crypto";
import type { RequestContext } from "./context.ts";

/** Hex digits of an ETag: 128 bits. */
const TAG_CHARS = 32;

/** Returns the ETag of a text or of its bytes. */
export function tagOf(text: string | Uint8Array): string {
  return `"${createHash("sha256").update(text).digest("hex").slice(0, TAG_CHARS)}"`;
}

/** Returns whether `If-None-Match` lists an ETag; weak ones count, since proxies that compress weaken it. */
export function isKnown(c: RequestContext, tag: string): boolean {
  const header = c.req.raw.headers.get("if-none-match");
  if (header === null) return false;
  return header.trim() === "*" ||
    header.split(",").some((listed) => listed.trim().replace(/^W\//, "") === tag);
}
