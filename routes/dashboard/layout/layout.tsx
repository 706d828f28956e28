/** The layout of every page: the menu, the heading, the content, and the signed-in principal. */
import { type Principal, refusalOf } from "../../../domain/teams/credentials.ts";
import type { RequestContext } from "../../http/context.ts";
import { assetPath } from "./assets.ts";
import type { View } from "./page.ts";
import { DASHBOARD_PATH } from "./paths.ts";

/** htmx config: no injected styles, no evaluated text. */
const HTMX = JSON.stringify({
  includeIndicatorStyles: false,
  allowEval: false,
  allowScriptTags: false,
  selfRequestsOnly: true,
  historyEnabled: false,
});

/** Hono drops the attribute in its standard spelling; HTML ignores case. */
const BLOCKING = { Blocking: "render" };

/** Renders a complete document. */
export function Layout({ c, view }: { readonly c: RequestContext; readonly view: View }) {
  const { title, body, aside, reloadSeconds } = view;
  const principal: Principal | undefined = c.get("principal");
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={HTMX} />
        <title>{title === "Runledger" ? title : `${title} · Runledger`}</title>
        {/* Column widths depend on all rows, so rendering waits for the complete table. */}
        <link rel="expect" href="#end" {...BLOCKING} />
        <link rel="icon" href={assetPath("icon.svg")} type="image/svg+xml" />
        <link rel="stylesheet" href={assetPath("dashboard.css")} />
        <script src={assetPath("htmx.js")} defer />
        <script src={assetPath("dashboard.js")} defer />
        {reloadSeconds !== undefined && (
          <noscript>
            <meta http-equiv="refresh" content={String(reloadSeconds)} />
          </noscript>
        )}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href={DASHBOARD_PATH}>Runledger</a>
          {principal !== undefined && <Menu c={c} />}
        </header>
        <main id="main">
          <div class="heading">
            <h1>{title}</h1>
            {aside}
          </div>
          {body}
        </main>
        <footer class="bottom">
          <a href="/docs">API</a>
          {principal !== undefined && <SignedIn {...principal} />}
        </footer>
        <div id="end" hidden />
      </body>
    </html>
  );
}

function Menu({ c }: { readonly c: RequestContext }) {
  const pages = c.get("menu")
    .filter(({ access }) => refusalOf(c.get("principal"), access) === null);
  return (
    <nav class="menu" aria-label="Pages">
      <ul>
        {pages.map(({ name, path }) => (
          <li>
            <a href={path} aria-current={isWithin(c.req.path, path) ? "page" : undefined}>{name}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Returns whether a path is a menu entry's page or below it. */
function isWithin(path: string, to: string): boolean {
  return path === to || (to !== DASHBOARD_PATH && path.startsWith(`${to}/`));
}

function SignedIn({ grant, team }: Principal) {
  const may = grant.kind === "api_key" ? grant.scopes.join(", ") : grant.kind;
  return (
    <form method="post" action={`${DASHBOARD_PATH}/sign-out`}>
      <span>
        {team.name} · {may}
      </span>
      <button type="submit" class="link">Sign out</button>
    </form>
  );
}
