/** `GET /openapi.json` and `GET /docs`: the API's description (`openapi/describe.ts`) in two forms. */
import type { Handle, Route } from "../../http/context.ts";
import { staticResponse } from "../../http/static_response.ts";

// What follows is loaded at the first request for it: a process that takes calls starts without it.

/** Answers with the document. */
export function describeApi(routes: () => readonly Route[]): Handle {
  return staticResponse(async () => {
    const { documentText } = await import("../openapi_text.ts");
    return { type: "application/json", text: documentText(routes()), headers: {} };
  });
}

/** Answers with the page. Its style is allowed by its hash, and nothing else is. */
export function showDocs(routes: () => readonly Route[]): Handle {
  return staticResponse(async () => {
    const { documentText } = await import("../openapi_text.ts");
    const { renderDocsPage, POLICY } = await import("../../docs/page.tsx");
    return {
      type: "text/html; charset=UTF-8",
      text: renderDocsPage(JSON.parse(documentText(routes()))),
      headers: {
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "no-referrer",
      },
    };
  });
}
