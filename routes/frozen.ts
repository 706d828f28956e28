/** Answers whose text is the same for everybody, made once: the API's description. */
import type { Handle } from "./context.ts";
import { isKnown, tagOf } from "./etag.ts";

/** What is answered again and again. */
export interface Frozen {
  readonly type: string;
  readonly text: string;
  /** Headers besides type, `ETag` and `Cache-Control`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers with a text that is made at the first request, since most processes never need it. */
export function frozen(make: () => Promise<Frozen>): Handle {
  let made: Promise<ReturnType<typeof withHeaders>> | undefined;
  return async (c) => {
    const { text, tag, headers } = await (made ??= make().then(withHeaders));
    const all = { ...headers, "X-Request-Id": c.get("requestId") };
    return isKnown(c, tag)
      ? new Response(null, { status: 304, headers: all })
      : new Response(text, { headers: all });
  };
}

/** Headers by name. */
type Headers = Readonly<Record<string, string>>;

function withHeaders({ type, text, headers }: Frozen) {
  const tag = tagOf(text);
  const own = { "Content-Type": type, "ETag": tag, "Cache-Control": "public, max-age=300" };
  return { text, tag, headers: { ...own, ...headers } };
}
