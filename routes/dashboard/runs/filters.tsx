/** The filters of the run list: presets, search, chips, and menus of known values with counts. */
import type { PropsWithChildren } from "hono/jsx";
import { RUNS_SINCE } from "../../../domain/runs/list_query.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { Menu, Tabs } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { formOf, type Option } from "../components/form_fields.tsx";
import { Icon } from "../components/icons.tsx";
import { RUNS_PATH } from "../layout/paths.ts";
import { ANY_TIME, type Filter, FILTERS, type ListQuery, NO_FILTERS, PRESETS } from "./query.ts";
import type { ValueCounts } from "./runs_view.ts";

interface BarProps {
  readonly query: ListQuery;
  readonly counts: ValueCounts;
}

/** The line above the table. */
export function FilterBar({ query, counts }: BarProps) {
  return (
    <div class="run-filters" role="search" aria-label="Filters">
      <Presets query={query} counts={counts} />
      <Fields kept={query.changed({ text: null })} class="field">
        <Icon name="search" />
        <input
          {...TEXT}
          name="text"
          value={query.get("text") ?? ""}
          placeholder="Goal, output, error or id"
          aria-label="Search goal, output, error and id"
        />
        <kbd>/</kbd>
      </Fields>
      {query.chips().map((chip) => <Chip query={query} counts={counts} {...chip} />)}
      <Menu id="add-filter" button="btn plain" label={[<Icon name="plus" />, " Filter"]}>
        {FILTERS.map((filter) => (
          <details name="filter">
            <summary>{filter.label}</summary>
            <Values query={query} counts={counts} filter={filter} />
          </details>
        ))}
      </Menu>
      {query.isFiltered && <a href={query.path(NO_FILTERS)}>Clear all</a>}
      <Period query={query} />
    </div>
  );
}

function Presets({ query, counts }: BarProps) {
  // Counts are of all runs.
  const ofStatus = query.isOnlyPreset ? counts.get("status") : undefined;
  const links = PRESETS.map((preset) => {
    const { name, filters } = preset;
    const count = filters.status.reduce((sum, status) => sum + (ofStatus?.get(status) ?? 0), 0);
    const tag = <span class={name === "Failed" ? "tag bad" : "tag"}>{formatCount(count)}</span>;
    const isCurrent = query.isPreset(preset);
    return { name: [name, " ", count > 0 && tag], to: query.path(filters), isCurrent };
  });
  return <Tabs class="seg" label="Presets" tabs={links} />;
}

/** Attributes of fields for texts. */
const TEXT = { type: "text", maxlength: LABEL_CHARS_MAX, autocomplete: "off" } as const;

type FieldsProps = PropsWithChildren<{ readonly kept: URLSearchParams; readonly class: string }>;

/** A form that changes some parameters of the list and keeps the others. */
function Fields({ kept, class: name, children }: FieldsProps) {
  return (
    <form method="get" action={RUNS_PATH} class={name}>
      {[...kept].map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {children}
    </form>
  );
}

interface FilterProps extends BarProps {
  readonly filter: Filter;
}

/** A filter that is set: it opens the known values, and its cross removes it. */
function Chip({ query, counts, filter, parameter }: FilterProps & { readonly parameter: string }) {
  const { name, label, values } = filter;
  const texts = new Map(values?.map(optionOf));
  const words = parameter === name ? label : `${label} is not`;
  const set = query.getAll(parameter).map((value) => texts.get(value) ?? value).join(" or ");
  return (
    <span class="chip">
      <Menu label={[`${words} `, <b>{set}</b>]}>
        <Values query={query} counts={counts} filter={filter} />
      </Menu>
      <a
        class="off"
        href={query.path({ [parameter]: null })}
        aria-label={`${words} ${set}: remove this filter`}
      >
        <Icon name="close" />
      </a>
    </span>
  );
}

/** Returns a value with its text; it may be its own. */
function optionOf(value: string | Option): Option {
  return typeof value === "string" ? [value, value] : value;
}

/** Values of a menu; others can be typed. */
const VALUES_SHOWN = 12;

/** The known values of a filter as links that add or remove them, and a field for others. */
function Values({ query, counts, filter }: FilterProps) {
  const { name, label, not, typed, isMany = false } = filter;
  const counted = counts.get(name);
  const runsOf = (value: string) => counted?.get(value) ?? 0;
  const known = filter.values ?? [...counted?.keys() ?? []];
  const toggle = (parameter: string, value: string, isMany: boolean, label?: string) => ({
    "href": query.togglePath(parameter, value, isMany),
    "aria-current": query.getAll(parameter).includes(value) ? "true" as const : undefined,
    "aria-label": label,
    "title": label,
  });
  return (
    <>
      {known.slice(0, VALUES_SHOWN).map(optionOf).map(([value, text]) => (
        <div class="value">
          <a {...toggle(name, value, isMany)}>
            {text}
            {runsOf(value) > 0 && <span class="end">{formatCount(runsOf(value))}</span>}
          </a>
          {not && <a class="not" {...toggle(not, value, true, `${label} is not ${text}`)}>≠</a>}
        </div>
      ))}
      {typed !== undefined && (
        <Fields kept={query.changed(isMany ? {} : { [name]: null })} class="typed">
          <input {...TEXT} name={name} placeholder={typed} aria-label={label} />
          <button type="submit" class="btn small">Add</button>
        </Fields>
      )}
    </>
  );
}

const PERIODS: Readonly<Record<typeof RUNS_SINCE[number], string>> = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

/** Format of days; instants can be typed too. */
const FORMAT = { placeholder: "YYYY-MM-DD" };

/** The range of time of the list. */
function Period({ query }: { readonly query: ListQuery }) {
  const since = RUNS_SINCE.find((period) => period === query.get("since"));
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const days = [from && `From ${from}`, to && `to ${to}`, !/t/i.test(from + to) && "UTC"];
  const isSet = from !== "" || to !== "";
  const label = isSet ? days.filter(Boolean).join(" ") : since ? PERIODS[since] : "Any time";
  const { text } = formOf({ from, to }, null);
  return (
    <Menu class="menu period" button="btn" label={[`${label} `, <Icon name="chevron" />]}>
      <a href={query.path(ANY_TIME)}>Any time</a>
      {RUNS_SINCE.map((since) => <a href={query.path({ ...ANY_TIME, since })}>{PERIODS[since]}</a>)}
      <hr />
      <Fields kept={query.changed(ANY_TIME)} class="between">
        {text("from", "From", FORMAT)}
        {text("to", "To", FORMAT)}
        <button type="submit" class="btn small">Apply</button>
        <small>Days in UTC</small>
      </Fields>
    </Menu>
  );
}
