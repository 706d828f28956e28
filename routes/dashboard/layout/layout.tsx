/** The frame of every page: head, top bar, title line, content. */
import { type Principal, refusalOf } from "../../../domain/teams/credentials.ts";
import type { MenuEntry, RequestContext } from "../../http/context.ts";
import { Symbols } from "../components/icons.tsx";
import { Tabs } from "../components/elements.tsx";
import { TimeContext } from "../components/time.tsx";
import { assetPath } from "./assets.ts";
import type { View } from "./page.ts";
import { DASHBOARD_PATH, isWithin } from "./paths.ts";
import { QuotaBanner } from "./quota_banner.tsx";
import { readPreferences, shownZone } from "./preferences.ts";
import { SearchDialog } from "./search_dialog.tsx";
import { Brand, TopBar } from "./top_bar.tsx";

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
  const preferences = readPreferences(c);
  const { theme } = preferences;
  const { nowMs } = c.get("frame");
  const principal: Principal | undefined = c.get("principal");
  const entries = principal === undefined ? [] : entriesFor(c, principal);
  const zone = shownZone(preferences);
  return (
    <TimeContext.Provider value={{ zone, nowMs }}>
      <html
        lang="en"
        data-theme={theme ?? undefined}
        data-zone={zone}
        data-utc={preferences.isUtc}
        data-now={nowMs}
      >
        <Head view={view} scheme={theme ?? "light dark"} />
        <body>
          <a class="skip" href="#main">Skip to the content</a>
          <Symbols />
          {view.isBare ? null : principal === undefined
            ? (
              <header class="top">
                <Brand to={DASHBOARD_PATH} />
              </header>
            )
            : <TopBar {...{ c, principal, entries, preferences }} />}
          <main id="main" class={view.isBare ? "door" : undefined}>
            <Content {...{ c, view, entries }} />
          </main>
          {principal !== undefined && <SearchDialog />}
          <div id="end" hidden />
        </body>
      </html>
    </TimeContext.Provider>
  );
}

/** Returns the menu of a principal; the operator manages teams and has no runs. */
function entriesFor(c: RequestContext, principal: Principal): readonly MenuEntry[] {
  return c.get("frame").menu.filter(({ access }) => refusalOf(principal, access) === null);
}

function Head({ view, scheme }: { readonly view: View; readonly scheme: string }) {
  const { title, reloadSeconds } = view;
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content={scheme} />
      <meta name="htmx-config" content={HTMX} />
      <title>{title === "Runledger" ? title : `${title} · Runledger`}</title>
      {/* Column widths depend on all rows, so rendering waits for the complete table. */}
      <link rel="expect" href="#end" {...BLOCKING} />
      <link rel="icon" href={assetPath("icon.svg")} type="image/svg+xml" />
      <link rel="stylesheet" href={assetPath("dashboard.css")} />
      <script src={assetPath("htmx.js")} defer />
      {/* The script converts times before the first frame, so that none of them moves. */}
      <script src={assetPath("dashboard.js")} defer {...BLOCKING} />
      {reloadSeconds !== undefined && (
        <noscript>
          <meta http-equiv="refresh" content={String(reloadSeconds)} />
        </noscript>
      )}
    </head>
  );
}

interface ContentProps {
  readonly c: RequestContext;
  readonly view: View;
  readonly entries: readonly MenuEntry[];
}

/** The title line and the body; above them the way to the page, or the tabs of its area. */
function Content({ c, view, entries }: ContentProps) {
  const { title, heading = title, lead, aside, crumbs, body, isBare } = view;
  if (isBare) return <>{body}</>;
  const { quota } = c.get("frame");
  // From 80 % on the overview, from 100 % everywhere (R39).
  const isWarned = quota !== undefined &&
    (quota.state === "over" || quota.state === "heads_up" && c.req.path === DASHBOARD_PATH);
  const tabs = entries.filter(({ area }) => area === "settings");
  const isSetting = tabs.some(({ path }) => isWithin(c.req.path, path));
  return (
    <>
      {isSetting && (
        <Tabs
          label="Settings"
          tabs={tabs.map(({ name, path }) => ({
            name,
            to: path,
            isCurrent: isWithin(c.req.path, path),
          }))}
        />
      )}
      {crumbs}
      <div class="head">
        <h1>{heading}</h1>
        {lead !== undefined && <p class="quiet">{lead}</p>}
        {aside !== undefined && aside !== null && <div class="end">{aside}</div>}
      </div>
      {isWarned && <QuotaBanner {...quota} />}
      {body}
    </>
  );
}
