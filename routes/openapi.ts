/** `GET /openapi.json` and `GET /docs`: the API's description (`openapi/describe.ts`) in two forms. */
import { createHash } from "node:crypto";
import type { Handle, Route } from "./context.ts";
import type { Document } from "./docs/document.ts";
import { pageOf } from "./docs/page.tsx";
import { STYLE } from "./docs/style.ts";
import { frozen } from "./frozen.ts";
import { openapiDocument } from "./openapi/document.ts";
import { OPERATIONS } from "./openapi/operations.ts";

/** Answers with the document. */
export function describeApi(routes: () => readonly Route[]): Handle {
  return frozen(() => ({ type: "application/json", text: `${documentText(routes())}\n` }));
}

/** Answers with the page. Its style is allowed by its hash, and nothing else is. */
export function showDocs(routes: () => readonly Route[]): Handle {
  return frozen(() => {
    const style = createHash("sha256").update(STYLE).digest("base64");
    const policy = `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; ` +
      "form-action 'none'; frame-ancestors 'none'";
    return {
      type: "text/html; charset=UTF-8",
      text: pageOf(JSON.parse(documentText(routes())) as Document),
      headers: {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
      },
    };
  });
}

function documentText(routes: readonly Route[]): string {
  return JSON.stringify(openapiDocument(routes, OPERATIONS));
}
