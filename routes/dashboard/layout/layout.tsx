/** The frame of every page: head, top bar with the search and the account menu, title line, content. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { type Principal, refusalOf } from "../../../domain/teams/credentials.ts";
import type { QuotaUse } from "../../../domain/teams/quota.ts";
import type { PageFrame, RequestContext } from "../../http/context.ts";
import { Icon, Logo, Symbols } from "../components/icons.tsx";
import { InlineNotice, type Tab, Tabs, TimeContext } from "../components/elements.tsx";
import { formatCount, percentText } from "../components/format.ts";
import { assetPath } from "./assets.ts";
import * as paths from "./paths.ts";
import { type Preferences, readPreferences, shownZone } from "./preferences.ts";

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

/** A page as its handler describes it. */
export interface View {
  /** The title of the browser's tab. */
  readonly title: string;
  /** The heading of the page; the title when absent. */
  readonly heading?: string;
  readonly body: Child;
  /** One grey sentence next to the heading. */
  readonly subtitle?: Child;
  /** Shown at the right of the heading: links or buttons. */
  readonly aside?: Child;
  /** Shown above the heading: the way to this page. */
  readonly crumbs?: Child;
  /** True for a page without the top bar: the sign-in form. */
  readonly isBare?: boolean;
  /** HTTP status; 200 when absent. */
  readonly status?: number;
  /** The reason a form was rejected; it determines the status. */
  readonly problem?: Problem | null;
  /** Seconds until a browser without scripts reloads the page; never when absent. */
  readonly reloadSeconds?: number;
}

/** Renders a complete document. */
export function Layout({ c, view }: { readonly c: RequestContext; readonly view: View }) {
  const preferences = readPreferences(c);
  const { theme } = preferences;
  const { nowMs, menu, open } = c.get("frame");
  const principal: Principal | undefined = c.get("principal");
  const zone = shownZone(preferences);
  // The operator manages teams and has no runs.
  const entries = principal === undefined
    ? []
    : menu.filter(({ access }) => refusalOf(principal, access) === null);
  const tabsOf = (wanted: "main" | "settings"): Tab[] =>
    entries.filter(({ area }) => area === wanted)
      .map(({ name, path }) => ({ name, to: path, isCurrent: paths.isWithin(c.req.path, path) }));
  const [places, settings] = [tabsOf("main"), tabsOf("settings")];
  const isSetting = settings.some(({ isCurrent }) => isCurrent);
  const setting = settings[0] && { ...settings[0], name: "Settings", isCurrent: isSetting };
  return (
    <TimeContext.Provider value={{ zone, nowMs }}>
      <html
        lang="en"
        data-theme={theme}
        data-zone={zone}
        data-utc={preferences.isUtc}
        data-now={nowMs}
      >
        {headOf(view, theme ?? "light dark")}
        <body>
          <a class="skip" href="#main">Skip to the content</a>
          <Symbols />
          {view.isBare
            ? null
            : principal === undefined
            ? <header class="top">{brandOf(paths.DASHBOARD_PATH)}</header>
            : topBar(principal, places, setting, open, preferences)}
          <main id="main" class={view.isBare ? "door" : undefined}>
            {isSetting && !view.isBare && <Tabs label="Settings" tabs={settings} />}
            {contentOf(c, view)}
          </main>
          {principal !== undefined && searchDialog()}
          <div id="end" hidden />
        </body>
      </html>
    </TimeContext.Provider>
  );
}

function headOf({ title, reloadSeconds }: View, scheme: string) {
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

/** The way to the page, the title line and the body. */
function contentOf(c: RequestContext, view: View) {
  const { title, heading = title, subtitle, aside, crumbs, body, isBare } = view;
  if (isBare) return <>{body}</>;
  const { quota } = c.get("frame");
  // From 80 % on the overview, from 100 % everywhere (R39).
  const isWarned = quota !== undefined &&
    (quota.state === "over" || quota.state === "heads_up" && c.req.path === paths.DASHBOARD_PATH);
  return [
    crumbs,
    <div class="head">
      <h1>{heading}</h1>
      {subtitle !== undefined && <p class="quiet">{subtitle}</p>}
      {aside !== undefined && aside !== null && <div class="end">{aside}</div>}
    </div>,
    isWarned && quotaBanner(quota),
    body,
  ];
}

/** Shows how much of the month's events are used, and the next steps. */
function quotaBanner({ month, state, used, included }: QuotaUse) {
  const [kind, text] = state === "over"
    ? ["bad", "Over quota: this month's events are used up."] as const
    : ["warn", "Heads-up: 80% or more of this month's events are used."] as const;
  return (
    <InlineNotice kind={kind}>
      <strong>{text}</strong> {formatCount(used)} of {formatCount(included)}{" "}
      ({percentText(used, included)}). Nothing is cut off and nothing is charged.{" "}
      <a href={paths.PLAN_PATH}>See where the month is heading</a> and{" "}
      <a href={`${paths.SPEND_PATH}?group_by=agent&from=${month}-01`}>which agents do the work</a>;
      if it is what you need, ask for a larger plan.
    </InlineNotice>
  );
}

/** Shows the places, which are the pages of the menu with one for all settings. */
function topBar(
  principal: Principal,
  places: readonly Tab[],
  setting: Tab | undefined,
  open: PageFrame["open"],
  preferences: Preferences,
) {
  const counted = places.map((tab) => ({
    ...tab,
    note: tab.to === paths.ALERTS_PATH && openCount(open),
  }));
  const tabs = setting === undefined ? counted : [...counted, setting];
  return (
    <header class="top">
      {brandOf(tabs[0]?.to ?? paths.DASHBOARD_PATH)}
      <Tabs class="nav" label="Pages" tabs={tabs} />
      <div class="end">
        <a class="jump" href={paths.SEARCH_PATH} data-jump>
          <Icon name="search" />
          <span>Search or jump to…</span>
          <kbd aria-hidden="true">⌘K</kbd>
        </a>
        {account(principal, [...places.slice(PHONE_PLACES), setting], preferences)}
      </div>
    </header>
  );
}

/** The logo and the name, as a link to the first page. */
export function brandOf(to: string) {
  return (
    <a class="brand" href={to} aria-label="Runledger">
      <Logo />
      <b>Runledger</b>
    </a>
  );
}

/** Largest count that is shown. */
const COUNT_MAX = 99;

/** The number of open incidents; nothing for none. */
function openCount({ critical, warning, info } = { critical: 0, warning: 0, info: 0 }) {
  const count = critical + warning + info;
  return count > 0 && (
    <span class={critical > 0 ? "count bad" : "count"}>
      {count > COUNT_MAX ? `${COUNT_MAX}+` : count} <span class="sr">open</span>
    </span>
  );
}

/**
 * The theme and the time zone of this browser. The script switches in place. The server knows the
 * browser's zone from the script alone, so a browser that never ran it is offered no zone.
 */
function preferenceForm({ theme, zone, isUtc }: Preferences) {
  const choices = (label: string, name: string, chosen: string, texts: Record<string, string>) => (
    <div class="preference" data-choice={name} hidden={name === "time" && zone === null}>
      <span id={`choice-${name}`}>{label}</span>
      <div class="seg small" role="group" aria-labelledby={`choice-${name}`}>
        {Object.entries(texts).map(([value, text]) => (
          <button type="submit" name={name} value={value} aria-pressed={String(value === chosen)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
  // The theme "system" removes the preference.
  const themes = { system: "System", light: "Light", dark: "Dark" };
  return (
    <form class="preferences" method="post" action={paths.VIEW_PATH}>
      {choices("Theme", "theme", theme ?? "system", themes)}
      {choices("Times", "time", isUtc ? "utc" : "local", { local: "Local time", utc: "UTC" })}
    </form>
  );
}

/** Places that a phone's row has room for; the menu has further ones. */
const PHONE_PLACES = 5;

function account(
  principal: Principal,
  hidden: readonly (Tab | undefined)[],
  preferences: Preferences,
) {
  const { grant, team, credentialName = grant.kind } = principal;
  const allowed = grant.kind === "api_key" ? grant.scopes.join(", ") : "manages teams";
  return (
    <details class="menu account">
      <summary>
        <span class="avatar" aria-hidden="true">{initials(credentialName)}</span>
        <span class="sr">Account: {credentialName}</span>
      </summary>
      <div>
        <p>
          <b>{credentialName}</b>
          <br />
          {team.name} · {allowed}
        </p>
        <hr />
        {preferenceForm(preferences)}
        <hr />
        {hidden.map((tab) => tab && <a class="only-s" href={tab.to}>{tab.name}</a>)}
        <a href={paths.REFERENCE_PATH}>API reference</a>
        <hr />
        <form method="post" action={`${paths.DASHBOARD_PATH}/sign-out`}>
          <button type="submit">Sign out</button>
        </form>
      </div>
    </details>
  );
}

/** Returns the first letters of the first two words of a name. */
function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return words.slice(0, 2).map((word) => [...word][0]).join("").toUpperCase() || "K";
}

/** Maximum characters of a search. */
export const SEARCH_CHARS_MAX = 200;

/** The field of a search; its id is unique on the page. */
export function SearchField({ id, value = "" }: { readonly id: string; readonly value?: string }) {
  return (
    <div class="field">
      <Icon name="search" />
      <input
        type="text"
        name="q"
        id={id}
        value={value}
        maxlength={SEARCH_CHARS_MAX}
        aria-label="Search runs, agents, customers and pages"
        placeholder="Run, goal, error, agent, customer or page"
        autocomplete="off"
        spellcheck={false}
        autofocus
      />
    </div>
  );
}

/** The dialog of ⌘K and Ctrl+K. Without scripts the link to the search page is used instead. */
function searchDialog() {
  return (
    <dialog id="jump" aria-label="Search">
      <form method="get" action={paths.SEARCH_PATH} role="search">
        <SearchField id="jump-q" />
      </form>
      <div id="jump-found" class="found" aria-live="polite" />
    </dialog>
  );
}
