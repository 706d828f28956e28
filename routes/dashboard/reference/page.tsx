/** `/docs`: the API reference, in the frame of a session, else as a page that loads nothing. */
import base from "../assets/style/base.css" with { type: "text" };
import controls from "../assets/style/controls.css" with { type: "text" };
import docs from "../assets/style/docs.css" with { type: "text" };
import frame from "../assets/style/frame.css" with { type: "text" };
import tokens from "../assets/style/tokens.css" with { type: "text" };
import { createHash } from "node:crypto";
import { raw } from "hono/html";
import { ApiReference } from "../../docs/page.tsx";
import type { HandlerDeps } from "../../http/admission.ts";
import { compressed, staticResponse } from "../../http/compress.ts";
import type { Handle } from "../../http/context.ts";
import { DASHBOARD_PATH, REFERENCE_PATH, SIGN_IN } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Brand } from "../layout/top_bar.tsx";

const TITLE = "API reference";

/** The look of the public page. It is part of the page, which then needs nothing of `/dashboard`. */
const STYLE = [tokens, base, frame, controls, docs].join("\n").replaceAll(/\/\*[^]*?\*\//g, "");

/** Policy of the public page: only its own style is allowed. */
const POLICY = "default-src 'none'; " +
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Creates the handler. The reference is rendered once, at its first request. */
export function createReference(deps: HandlerDeps): Handle {
  let body: Promise<string> | undefined;
  const bodyText = () => body ??= deps.openapiText().then(renderBody);
  const showPublic = staticResponse(async () => ({
    type: "text/html; charset=UTF-8",
    text: renderPublicPage(await bodyText()),
    headers: {
      "Content-Security-Policy": POLICY,
      "Referrer-Policy": "no-referrer",
      // The same path has another page for a session.
      "Vary": "Cookie",
    },
  }));
  const showFramed = compressed(async (c) => {
    const view = { title: TITLE, body: raw(await bodyText()), isStill: true };
    return showPage(c, view, { Vary: "Cookie" });
  });
  return (c) => c.get("principal") === undefined ? showPublic(c, deps) : showFramed(c);
}

function renderBody(openapi: string): string {
  return (<ApiReference document={JSON.parse(openapi)} />).toString();
}

function renderPublicPage(body: string): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${TITLE} · Runledger`}</title>
        {/* Not escaped: escaping would change the style and its hash. */}
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <Brand to={DASHBOARD_PATH} />
          <div class="end">
            <a class="btn" href={`${SIGN_IN}?${new URLSearchParams({ next: REFERENCE_PATH })}`}>
              Sign in
            </a>
          </div>
        </header>
        <main id="main">
          <div class="head">
            <h1>{TITLE}</h1>
          </div>
          {raw(body)}
        </main>
      </body>
    </html>
  );
  return `<!DOCTYPE html>${page}\n`;
}
