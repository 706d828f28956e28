/** Small page elements: amounts, statuses, notices, panels, commands. */
import { type Child, createContext, type PropsWithChildren, useContext } from "hono/jsx";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { exactText, instantText } from "../assets/time.js";
import { agoText, capitalized, exactMoneyText, moneyText } from "./format.ts";
import { Icon, type IconName } from "./icons.tsx";
import type { RequestContext } from "../../http/context.ts";

/** Characters of an amount's text after the cent, and one cent in picodollars. */
const SUB_CENT = 2, CENT = 10_000_000_000n;

/**
 * An amount with 4 decimals, so that a column aligns on the point; hovering shows the exact one.
 * Digits after the cent are grey, except where they are all there is.
 */
export function Money({ of, isExact = false }: {
  readonly of: Picodollars;
  /** True to show all digits: for the parts of a sum that readers check. */
  readonly isExact?: boolean;
}) {
  const [exact, text] = [exactMoneyText(of), moneyText(of)];
  if (isExact) return <span class="money">{exact}</span>;
  const isBelowCent = of !== 0n && of < CENT && of > -CENT;
  const [size, shown] = [exact, text].map((amount) => Number(amount.replaceAll(/[^0-9.]/g, "")));
  return (
    <span class="money" title={size === shown ? undefined : exact}>
      {isBelowCent
        ? text
        : [text.slice(0, -SUB_CENT), <span class="sub">{text.slice(-SUB_CENT)}</span>]}
    </span>
  );
}

/** The icon of each run status, so that nothing depends on colour alone. */
export const STATUS_ICONS: Readonly<Record<RunStatus, IconName>> = {
  running: "run",
  success: "ok",
  failed: "bad",
  timeout: "timeout",
  cancelled: "off",
};

type SignProps = PropsWithChildren<{
  readonly icon: IconName;
  /** Class of the colour; that of the icon when absent. */
  readonly name?: string | undefined;
  /** True if the word is for screen readers only. */
  readonly isIcon?: boolean;
  /** True to keep the icon and the word on one line. */
  readonly isWord?: boolean;
  readonly title?: string;
}>;

/** An icon in its colour, with its word. */
export function Sign(sign: SignProps) {
  const { icon, name = `st-${icon}`, isIcon = false, isWord = false, title, children } = sign;
  return (
    <span class={`st ${isWord ? "word " : ""}${name}`} title={title}>
      <Icon name={icon} />
      {children && <span class={isIcon ? "sr" : undefined}>{children}</span>}
    </span>
  );
}

/** A word, the icon that stands for it, and the class of both, if it is not that of the icon. */
export type Label = readonly [word: string, icon: IconName, name?: string | undefined];

type Signed<T> = Omit<SignProps, "icon" | "name"> & { readonly of: T };

/** The sign of a label; its children follow the word. */
export function LabelSign({ of: [word, icon, name], children, ...sign }: Signed<Label>) {
  return <Sign {...{ icon, name }} {...sign}>{word}{children}</Sign>;
}

/** The status of a run. */
export function Status({ of, ...sign }: Signed<RunStatus>) {
  return <Sign icon={STATUS_ICONS[of]} {...sign}>{of}</Sign>;
}

/** A region that scrolls when its table is wider than the screen, also by keyboard. */
export function Wide({ label, children }: PropsWithChildren<{ readonly label: string }>) {
  return <div class="wide" role="region" aria-label={label} tabindex={0}>{children}</div>;
}

/** A notice; `bad` for problems that need action. */
export function InlineNotice(
  { kind, children }: PropsWithChildren<{ readonly kind: "good" | "warn" | "bad" }>,
) {
  return <div class={`notice ${kind}`} role="status">{children}</div>;
}

/** A panel of a page with its heading. */
export function Section({ title, id, tag, aside, children }: PropsWithChildren<{
  readonly title: string;
  readonly id?: string;
  /** A count next to the heading. */
  readonly tag?: string | undefined;
  /** Shown at the right of the heading. */
  readonly aside?: Child;
}>) {
  return (
    <section id={id} class="panel">
      <header>
        <h2>{title}</h2>
        {tag !== undefined && <span class="tag">{tag}</span>}
        {aside && <div class="end">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

/** Shown instead of an empty list: explains how to fill it. */
export function Empty({ title, children }: PropsWithChildren<{ readonly title: string }>) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/**
 * Text to copy, such as a command line, with a copy button where the browser supports it.
 *
 * @param id unique on the page
 */
export function Copyable({ id, text }: { readonly id: string; readonly text: string }) {
  return (
    <div class="shell">
      <pre id={id} tabindex={0}>{text}</pre>
      <button type="button" class="btn small" data-copies={id} hidden>Copy</button>
    </div>
  );
}

export type KeyValue = readonly [name: Child, value: Child];

/** Pairs, of which those without a value are left out. */
export type Pairs = readonly (KeyValue | false)[];

/** Lists name-value pairs, one per line; omits pairs without a value. */
export function KeyValues({ pairs }: { readonly pairs: Pairs }) {
  return (
    <dl class="kv">{present(pairs).map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
  );
}

/** Lists name-value pairs side by side; omits pairs without a value. */
export function LabelList({ pairs }: { readonly pairs: Pairs }) {
  return (
    <dl class="labels">
      {present(pairs).map(([name, value]) => <div>{[<dt>{name}</dt>, <dd>{value}</dd>]}</div>)}
    </dl>
  );
}

function present(pairs: Pairs): readonly KeyValue[] {
  const isEmpty = (value: unknown) => value === null || value === undefined || value === false;
  return pairs.flatMap((pair) => pair === false || isEmpty(pair[1]) ? [] : [pair]);
}

/** Links to the pages above, from the top. */
export function Crumbs({ links }: { readonly links: readonly (readonly [string, string])[] }) {
  return (
    <nav class="crumbs" aria-label="Breadcrumb">
      <ol>
        {links.map(([name, to]) => (
          <li>
            <a href={to}>{name}</a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Path suffixes for a page that confirms a change. */
export const SAVED = "?done=saved", DELETED = "?done=deleted", RESUMED = "?done=resumed";

/** Shows the notice. The query only selects a fixed text, so a link cannot inject another. */
export function Done({ c }: { readonly c: RequestContext }) {
  const done = ["saved", "deleted", "resumed"].find((name) => name === c.req.query("done"));
  return done && <InlineNotice kind="good">{capitalized(done)}.</InlineNotice>;
}

type MenuProps = PropsWithChildren<{
  readonly label: Child;
  readonly id?: string;
  readonly class?: string;
  /** Class of the button that opens it. */
  readonly button?: string;
}>;

/** A menu that opens below its button. */
export function Menu({ label, id, class: name = "menu", button, children }: MenuProps) {
  return (
    <details class={name} id={id}>
      <summary class={button}>{label}</summary>
      <div>{children}</div>
    </details>
  );
}

/** Numbers of a page, each with its name and a note below it. */
export function Tiles({ tiles }: {
  readonly tiles: readonly (readonly [name: string, value: Child, note?: Child])[];
}) {
  return (
    <div class="tiles">
      {tiles.map(([name, value, note]) => (
        <div class="tile">
          {`${name} `}
          <b>{value}</b>
          {note && <small class="soft">{note}</small>}
        </div>
      ))}
    </div>
  );
}

/** A link of a navigation. */
export interface Tab {
  readonly name: Child;
  readonly to: string;
  /** True for the link to the current page. */
  readonly isCurrent?: boolean;
  /** A count, shown after the name. */
  readonly note?: Child;
}

/** Lists links and marks the current one: tabs of an area, or with the class "seg" few choices. */
export function Tabs({ label, tabs, class: name = "tabs" }: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly class?: string;
}) {
  return (
    <nav class={name} aria-label={label}>
      <ul>
        {tabs.map(({ name, to, isCurrent, note }) => (
          <li>
            <a href={to} aria-current={isCurrent ? "page" : undefined}>
              {name}
              {Boolean(note) && [" ", note]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export interface FeedEntry {
  readonly to: string;
  /** The icon, and the class of its colour, if it is not that of the icon. */
  readonly mark: readonly [icon: IconName, name?: string | undefined];
  readonly title: string;
  /** Shown at the right. */
  readonly end: Child;
  /** Shown below the title. */
  readonly text: Child;
  /** Shown below title and text, as wide as the entry. */
  readonly bar?: Child;
  /** True for the entry that the page shows. */
  readonly isCurrent?: boolean;
}

/** A feed whose entries are one link each; a sentence if it has none. */
export function Feed(
  { entries, empty }: { readonly entries: readonly FeedEntry[]; readonly empty: string },
) {
  if (entries.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <ul class="feed">
      {entries.map(({ to, mark: [icon, name], title, end, text, bar, isCurrent }) => (
        <li class={isCurrent ? "at" : undefined}>
          <Sign icon={icon} name={name} />
          <div>
            <a class="row" href={to} aria-current={isCurrent ? "true" : undefined}>{title}</a>
            <p>{text}</p>
          </div>
          <span class="end">{end}</span>
          {bar}
        </li>
      ))}
    </ul>
  );
}

/**
 * Returns the htmx attributes of an element that replaces itself by its newest state.
 *
 * @param also selectors of other elements of the page that are replaced with it
 */
export function reloading(id: string, path: string, seconds: number, also?: string) {
  return {
    ...{ id, "hx-get": path, "hx-trigger": `every ${seconds}s`, "hx-sync": "this:drop" },
    ...{ "hx-select": `#${id}`, "hx-select-oob": also, "hx-swap": "outerHTML" },
  };
}

/** The time zone of a page, and the time it is rendered at, unix milliseconds. */
export interface PageTime {
  readonly zone: string;
  readonly nowMs: number;
}

export const TimeContext = createContext<PageTime>({ zone: "UTC", nowMs: 0 });

/** An instant as local time. The script formats it again when the zone is switched. */
export function At({ at }: { readonly at: number }) {
  const { zone, nowMs } = useContext(TimeContext);
  return (
    <time datetime={formatInstant(at)} title={exactText(at, zone)} data-at>
      {instantText(at, nowMs, zone)}
    </time>
  );
}

/** An instant as relative time; hovering shows the exact one. */
export function Ago({ at }: { readonly at: number }) {
  const { zone, nowMs } = useContext(TimeContext);
  return (
    <time datetime={formatInstant(at)} title={exactText(at, zone)} data-ago>
      {agoText(at, nowMs)}
    </time>
  );
}
