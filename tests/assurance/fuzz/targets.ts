/** Spellings of a target or a Host that must never select another route. */
import type { Random } from "../../../tools/random.ts";
import { type Draft, Drafts } from "./drafts.ts";
import { write } from "./requests.ts";
import { AUTH } from "../../support/harness/raw_socket.ts";
import type { Shot } from "./shot.ts";

const SLASHES = ["%2F", "%2f", "//", "/./", "/x/../", "/%2e/", "/x/%2E%2e/", "\\", "%5C"] as const;

/** Returns a valid request whose path is rewritten to another path, or to none of the service's. */
export function disguised(random: Random): Shot {
  const draft = withPath(random);
  const [, first = "", rest = ""] = /^(\/[^/]*)(.*)$/.exec(draft.path) ?? [];
  const at = draft.path.indexOf("/", random.int(0, draft.path.length - 1));
  const [before, after] = at > 0
    ? [draft.path.slice(0, at), draft.path.slice(at + 1)]
    : [first, rest.slice(1)];
  const slash = random.pick(SLASHES);
  const path = random.pick<() => string>([
    () => `${before}${slash}${after}`,
    () => `${before}${slash}${after}`,
    () => `${before};v=1/${after}`,
    () =>
      draft.path +
      random.pick(["/", "//", "/.", "/..;/x", ";v=1", "%20", "%00", ".json", "%0D%0A", "&a=b"]),
    () => random.pick(["/", "/.", "/x/..", "/v1", "/%2e"]) + draft.path,
    () => first.toUpperCase() + rest,
    () => `/v1%2F${draft.path.slice(4)}`,
    () => `/${draft.path.replaceAll("/", "%252F")}`,
  ])();
  return write("targets", draft, { path, headers: [AUTH], mustRefuse: true });
}

/** Returns a valid request to an API route; health routes are public and need no protection. */
function withPath(random: Random): Draft {
  const drafts = new Drafts(random, true);
  for (;;) {
    const draft = drafts.next();
    if (draft.path.startsWith("/v1/")) return draft;
  }
}

/** Paths that an attacker may try to reach. */
const ELSEWHERE = ["/healthz", "/readyz", "/v1/keys", "/v1/usage", "/v1/agents"] as const;

/** Returns a request for a missing path, with another path wherever a server might read one. */
export function misled(random: Random): Shot {
  const there = random.pick(ELSEWHERE);
  const nowhere = random.pick(["/nope", "/v1", "/v1/nope", "/"]);
  const host = random.pick<() => string>([
    () => `x${there}?y=`,
    () => `x${there}#`,
    () => `x\\${there}`,
    () => `x${there}`,
    () => `user:pw@x${there}?`,
    () => `user@x`,
    () => `http://x${there}`,
    () => `[::1]${there}?`,
    () => `x:80${there}?`,
    () => `x%2F${there}`,
    () => `${there}`,
    () => "x".repeat(random.int(1, 400)),
  ])();
  const forwarded = [
    ...[`X-Forwarded-Host: x${there}?`, `X-Original-URL: ${there}`, `X-Rewrite-URL: ${there}`],
    ...[`X-Forwarded-Path: ${there}`, `Forwarded: host="x${there}?"`, `X-Host: x${there}?`],
    ...[`Referer: http://x${there}`, `Content-Location: ${there}`, `X-Forwarded-Uri: ${there}`],
  ] as const;
  const path = random.pick([
    nowhere,
    `${nowhere}?${there}`,
    `${nowhere}#${there}`,
    `${nowhere}?#${there}`,
    `http://x${nowhere}`,
    `http://x?${there}`,
    `http://x#${there}`,
    `http://x${there}/..${nowhere}`,
    `http://x${there}:80${nowhere}`,
    `http://user:pw@x${nowhere}?${there}`,
    `https://x${nowhere}`,
    `//x${there}`,
    `/x:80${there}`,
  ]);
  const headers = [AUTH, random.chance(0.5) ? `Host: ${host}` : "Host: x", random.pick(forwarded)];
  const draft: Draft = { method: random.pick(["GET", "HEAD"]), path: "", query: [], text: null };
  return write("targets", draft, { path, host: null, headers, mustRefuse: true });
}
