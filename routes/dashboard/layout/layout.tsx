/** The frame of every page: where one is, where one can go, and who one is. */
import { type Principal, refusalOf, type Requirement } from "../../../domain/teams/credentials.ts";
import { OPERATOR_ONLY, teamKey, teamKeyOrOperator } from "../../http/access.ts";
import { assetPath } from "./assets.ts";
import {
  AGENTS_PATH,
  AUDIT_LOG_PATH,
  DASHBOARD_PATH,
  KEYS_PATH,
  RATE_CARD_PATH,
  REFUSALS_PATH,
  RUNS_PATH,
  SPEND_PATH,
  TEAM_PATH,
  TEAMS_PATH,
  USAGE_PATH,
} from "./paths.ts";
import type { View } from "./view.ts";

/** What the menu leads to, and for whom. */
const MENU: readonly (readonly [string, string, Requirement])[] = [
  ["Overview", DASHBOARD_PATH, teamKey("read")],
  ["Teams", TEAMS_PATH, OPERATOR_ONLY],
  ["Runs", RUNS_PATH, teamKey("read")],
  ["Rejected requests", REFUSALS_PATH, teamKey("read")],
  ["Agents", AGENTS_PATH, teamKey("read")],
  ["Spend", SPEND_PATH, teamKey("read")],
  ["Rate card", RATE_CARD_PATH, teamKey("admin")],
  ["Usage", USAGE_PATH, teamKey("read")],
  ["Keys", KEYS_PATH, teamKey("admin")],
  ["Team", TEAM_PATH, teamKey("read")],
  ["Audit", AUDIT_LOG_PATH, teamKeyOrOperator("admin")],
];

interface Framed {
  readonly view: View;
  readonly principal: Principal | undefined;
  readonly path: string;
}

/** Config of htmx: it needs no style of its own and evaluates no text. */
const HTMX = JSON.stringify({
  includeIndicatorStyles: false,
  allowEval: false,
  allowScriptTags: false,
  selfRequestsOnly: true,
  historyEnabled: false,
});

/** Hono leaves out a property of the attribute's own spelling; HTML takes any. */
const WHOLE = { Blocking: "render" };

/** A whole document. */
export function Layout({ view, principal, path }: Framed) {
  const { title, body, aside, reloadSeconds } = view;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={HTMX} />
        <title>{title === "Runledger" ? title : `${title} · Runledger`}</title>
        {/* Tables have their widths when all their rows are read: nothing is shown before. */}
        <link rel="expect" href="#end" {...WHOLE} />
        <link rel="icon" href={assetPath("icon.svg")} type="image/svg+xml" />
        <link rel="stylesheet" href={assetPath("pico.css")} />
        <link rel="stylesheet" href={assetPath("dashboard.css")} />
        <script src={assetPath("htmx.js")} defer />
        <script src={assetPath("dashboard.js")} defer />
        {reloadSeconds === undefined ? null : (
          <noscript>
            <meta http-equiv="refresh" content={String(reloadSeconds)} />
          </noscript>
        )}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href={DASHBOARD_PATH}>Runledger</a>
          {principal === undefined ? null : <Menu principal={principal} path={path} />}
        </header>
        <main id="main">
          <div class="heading">
            <h1>{title}</h1>
            {aside ?? null}
          </div>
          {body}
        </main>
        <footer class="bottom">
          <a href="/docs">API</a>
          {principal === undefined ? null : <Whoever principal={principal} />}
        </footer>
        <div id="end" hidden />
      </body>
    </html>
  );
}

function Menu({ principal, path }: Pick<Framed, "path"> & { readonly principal: Principal }) {
  return (
    <nav class="menu" aria-label="Pages">
      <ul>
        {MENU.filter(([, , access]) => refusalOf(principal, access) === null).map((
          [name, to],
        ) => (
          <li>
            <a href={to} {...(isWithin(path, to) ? { "aria-current": "page" } : {})}>{name}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Whether a page is the one of a menu's entry, or below it. */
function isWithin(path: string, to: string): boolean {
  return path === to || (to !== DASHBOARD_PATH && path.startsWith(`${to}/`));
}

function Whoever({ principal }: { readonly principal: Principal }) {
  const { grant, team } = principal;
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
