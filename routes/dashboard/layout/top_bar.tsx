/** The top bar: places, search, and the account menu. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import type { MenuEntry, PageFrame, RequestContext } from "../../http/context.ts";
import { Icon, Logo } from "../components/icons.tsx";
import {
  ALERTS_PATH,
  DASHBOARD_PATH,
  isWithin,
  REFERENCE_PATH,
  SEARCH_PATH,
  VIEW_PATH,
} from "./paths.ts";
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
      <Places entries={entries} at={c.req.path} open={c.get("frame").open} />
      <div class="end">
        <a class="jump" href={SEARCH_PATH} data-jump>
          <Icon name="search" />
          <span>Search or jump to…</span>
          <kbd aria-hidden="true">⌘K</kbd>
        </a>
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
  readonly open: PageFrame["open"];
}

function Places({ entries, at, open }: PlacesProps) {
  const places = entries.filter(({ area }) => area === "main");
  const settings = entries.filter(({ area }) => area === "settings");
  const [setting] = settings;
  const isSetting = settings.some(({ path }) => isWithin(at, path));
  return (
    <nav class="nav" aria-label="Pages">
      <ul>
        {places.map(({ name, path }) => (
          <li>
            <a href={path} aria-current={isWithin(at, path) ? "page" : undefined}>
              {name}
              {path === ALERTS_PATH && open !== undefined && <OpenCount of={open} />}
            </a>
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

/** Largest count that is shown. */
const COUNT_MAX = 99;

/** The number of open incidents; nothing for none. */
function OpenCount({ of: { critical, warning, info } }: {
  readonly of: NonNullable<PageFrame["open"]>;
}) {
  const count = critical + warning + info;
  return count > 0 && (
    <>
      {" "}
      <span class={critical > 0 ? "count bad" : "count"}>
        {count > COUNT_MAX ? `${COUNT_MAX}+` : count} <span class="sr">open</span>
      </span>
    </>
  );
}

interface PreferencesProps {
  readonly preferences: Preferences;
}

/** Themes by name; the first one removes the preference. */
const THEME_NAMES = [["system", "System"], ["light", "Light"], ["dark", "Dark"]] as const;

/** Zones by name. */
const ZONE_NAMES = [["local", "Local time"], ["utc", "UTC"]] as const;

/**
 * The theme and the time zone of this browser. The script switches in place. The server knows the
 * browser's zone from the script alone, so a browser that never ran it is offered no zone.
 */
function PreferenceForm({ preferences: { theme, zone, isUtc } }: PreferencesProps) {
  const choices = (
    label: string,
    name: string,
    values: readonly (readonly [value: string, text: string])[],
    chosen: string,
    isHidden = false,
  ) => (
    <div class="preference" data-choice={name} hidden={isHidden}>
      <span id={`choice-${name}`}>{label}</span>
      <div class="seg small" role="group" aria-labelledby={`choice-${name}`}>
        {values.map(([value, text]) => (
          <button type="submit" name={name} value={value} aria-pressed={String(value === chosen)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
  return (
    <form class="preferences" method="post" action={VIEW_PATH}>
      {choices("Theme", "theme", THEME_NAMES, theme ?? "system")}
      {choices("Times", "time", ZONE_NAMES, isUtc ? "utc" : "local", zone === null)}
    </form>
  );
}

/** Places that a phone's row has room for; the menu has further ones. */
const PHONE_PLACES = 5;

function Account(
  { principal, entries, preferences }: PreferencesProps & Pick<PlacesProps, "entries"> & {
    readonly principal: Principal;
  },
) {
  const { grant, team, credentialName = grant.kind } = principal;
  const allowed = grant.kind === "api_key" ? grant.scopes.join(", ") : "manages teams";
  const setting = entries.find(({ area }) => area === "settings");
  const hidden = [
    ...entries.filter(({ area }) => area === "main").slice(PHONE_PLACES),
    ...setting === undefined ? [] : [{ ...setting, name: "Settings" }],
  ];
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
        <PreferenceForm preferences={preferences} />
        <hr />
        {hidden.map(({ name, path }) => <a class="only-s" href={path}>{name}</a>)}
        <a href={REFERENCE_PATH}>API reference</a>
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
