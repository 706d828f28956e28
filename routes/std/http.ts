/**
 * The part of `@std/http` that the service uses: ETags and cookies.
 *
 * The signatures match the original, so that `deno.json` may map the name back to it.
 */
import { parse, serialize } from "hono/utils/cookie";
import { createHash } from "node:crypto";

/** Hex digits of an ETag: 128 bits. */
const TAG_CHARS = 32;

/** Returns the strong ETag of a text or of its bytes. */
export function eTag(entity: string | Uint8Array): Promise<string> {
  const digest = createHash("sha256").update(entity).digest("hex");
  return Promise.resolve(`"${digest.slice(0, TAG_CHARS)}"`);
}

/**
 * Returns whether `If-None-Match` lists no such ETag. Weak ones count, since proxies that compress
 * weaken it.
 */
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean {
  if (value === null || etag === undefined) return true;
  if (value.trim() === "*") return false;
  const strong = (tag: string) => tag.trim().replace(/^W\//, "");
  return !value.split(",").some((listed) => strong(listed) === strong(etag));
}

/** A cookie that a response sets. */
export interface Cookie {
  name: string;
  value: string;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
  /** Seconds until it expires; 0 deletes it. */
  maxAge?: number;
}

/** Returns the cookies of a request by their names. */
export function getCookies(headers: Headers): Record<string, string> {
  return parse(headers.get("cookie") ?? "");
}

/** Adds a cookie to the headers of a response. */
export function setCookie(headers: Headers, { name, value, ...options }: Cookie): void {
  headers.append("Set-Cookie", serialize(name, value, options));
}
