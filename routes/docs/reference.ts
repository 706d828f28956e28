/** The API reference at `/docs`: Scalar renders `/openapi.json` in the browser. */
import page from "./page.html" with { type: "text" };
import start from "./start.js" with { type: "text" };
import type { Handler } from "../http/admission.ts";
import { staticResponse } from "../http/compress.ts";

/** Path of the page's script. */
export const REFERENCE_SCRIPT = "/docs/reference.js";

/** Scripts and requests to this origin only. The library writes styles into its elements. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

/** Answers with the page. */
export const showReference: Handler = staticResponse(() =>
  Promise.resolve({
    type: "text/html; charset=UTF-8",
    text: page,
    headers: { "Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer" },
  })
);

const sendScript = staticResponse(async () => ({
  type: "text/javascript; charset=UTF-8",
  text: `${start}${await libraryText()}`,
  headers: {},
}));

/** Answers with the library and the page's own script, in parts. */
export const sendReferenceScript: Handler = async (c, deps, principal) => {
  const response = await sendScript(c, deps, principal);
  c.set("isLong", response.status === 200);
  return response;
};

/**
 * Returns the library as one file, which is read when the page is opened first. `@scalar/api-reference`
 * does not export that file and installs 280 packages. The package for Fastify installs 14, and has the
 * file as a string literal of its module.
 */
async function libraryText(): Promise<string> {
  const { default: bytes } = await import("@scalar/fastify-api-reference", {
    with: { type: "bytes" },
  });
  const [, literal = ""] = new TextDecoder().decode(bytes)
    .match(/^var standalone_default = (".*");$/m) ?? [];
  // JavaScript allows control characters in a literal, JSON does not.
  return JSON.parse(literal.replaceAll(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1)));
}
