/** The top bar: places, search, and the account menu. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import type { MenuEntry, RequestContext } from "../../http/context.ts";
import { Icon, Logo } from "../components/icons.tsx";
import { DASHBOARD_PATH, isWithin, SEARCH_PATH, VIEW_PATH } from "./paths.ts";
import type { Preferences } from "./preferences.ts";

interface TopBarProps {
  readonly c: RequestContext;
  readonly principal: Principal;
  readonly entries: readonly MenuEntry[];
  readonly preferences: Preferences;
}

export function TopBar({ c, principal, entries, preferences }: TopBarProps) {
  const [first] = entries;
  return (
    <header class="top">
      <Brand to={first?.path ?? DASHBOARD_PATH} />
      <Places entries={entries} at={c.req.path} />
      <div class="end">
        <a class="jump" href={SEARCH_PATH} data-jump>
          <Icon name="search" />
          <span>Search or jump to…</span>
          <kbd aria-hidden="true">⌘K</kbd>
        </a>
        <Switches preferences={preferences} />
        <Account {...{ principal, entries, preferences }} />
      </div>
    </header>
  );
}

/** The logo and the name, as a link to the first page. */
export function Brand({ to }: { readonly to: string }) {
  return (
    <a class="brand" href={to} aria-label="Runledger">
      <Logo />
      <b>Runledger</b>
    </a>
  );
}

interface PlacesProps {
  readonly entries: readonly MenuEntry[];
  /** Path of the current page. */
  readonly at: string;
}

function Places({ entries, at }: PlacesProps) {
  const places = entries.filter(({ area }) => area === "main");
  const settings = entries.filter(({ area }) => area === "settings");
  const [setting] = settings;
  const isSetting = settings.some(({ path }) => isWithin(at, path));
  return (
    <nav class="nav" aria-label="Pages">
      <ul>
        {places.map(({ name, path }) => (
          <li>
            <a href={path} aria-current={isWithin(at, path) ? "page" : undefined}>{name}</a>
          </li>
        ))}
        {setting !== undefined && (
          <>
            {places.length > 0 && <li class="sep" aria-hidden="true" />}
            <li>
              <a href={setting.path} aria-current={isSetting ? "page" : undefined}>Settings</a>
            </li>
          </>
        )}
      </ul>
    </nav>
  );
}

interface PreferencesProps {
  readonly preferences: Preferences;
}

/** Returns the fields that switch the time zone and the theme; the script switches in place. */
function switchesOf({ theme, isUtc }: Preferences) {
  return {
    time: { type: "submit", name: "time", value: isUtc ? "local" : "utc" },
    theme: { type: "submit", name: "theme", value: theme === "dark" ? "light" : "dark" },
  } as const;
}

/** The switches of the top bar. */
function Switches({ preferences }: PreferencesProps) {
  const { time, theme } = switchesOf(preferences);
  const isUtc = preferences.isUtc || preferences.zone === null;
  return (
    <form class="switches hide-s" method="post" action={VIEW_PATH}>
      <button {...time} class="btn plain small zone" data-utc-switch>
        <span class="sr">Time zone:</span> <span data-utc-name>{isUtc ? "UTC" : "Local time"}</span>
      </button>
      <button {...theme} class="btn plain icon" aria-label="Switch theme" data-theme-switch>
        <Icon name="theme" />
      </button>
    </form>
  );
}

/** The same in the account menu: on a phone there is no other place. */
function MenuSwitches({ preferences }: PreferencesProps) {
  const { time, theme } = switchesOf(preferences);
  return (
    <form method="post" action={VIEW_PATH}>
      <button {...time} data-utc-switch>
        {preferences.isUtc ? "Show times in local time" : "Show times in UTC"}
      </button>
      <button {...theme} data-theme-switch>Switch theme</button>
    </form>
  );
}

function Account(
  { principal, entries, preferences }: PreferencesProps & Omit<PlacesProps, "at"> & {
    readonly principal: Principal;
  },
) {
  const { grant, team, credentialName = grant.kind } = principal;
  const allowed = grant.kind === "api_key" ? grant.scopes.join(", ") : "manages teams";
  const setting = entries.find(({ area }) => area === "settings");
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
        <MenuSwitches preferences={preferences} />
        {setting !== undefined && <a class="only-s" href={setting.path}>Settings</a>}
        <a href="/docs">API reference</a>
        <hr />
        <form method="post" action={`${DASHBOARD_PATH}/sign-out`}>
          <button type="submit">Sign out</button>
        </form>
      </div>
    </details>
  );
}

/** Returns the first letters of the first two words of a name. */
function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return words.slice(0, 2).map((word) => [...word][0] ?? "").join("").toUpperCase() || "K";
}
