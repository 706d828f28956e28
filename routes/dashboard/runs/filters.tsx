/** The filters of the run list: presets, search, chips, and menus of known values with counts. */
import type { Child } from "hono/jsx";
import { RUNS_SINCE } from "../../../domain/runs/list_query.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { RUNS_PATH } from "../layout/paths.ts";
import {
  changed,
  type Changes,
  type Filter,
  FILTERS,
  isFiltered,
  isInPreset,
  isOnlyPreset,
  isPreset,
  listPath,
  type ListQuery,
  type Preset,
  PRESETS,
  togglePath,
} from "./query.ts";

/** Counts of runs by value, by the name of the filter. */
export type ValueCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface BarProps {
  readonly query: ListQuery;
  readonly counts: ValueCounts;
}

/** The line above the table. */
export function FilterBar({ query, counts }: BarProps) {
  return (
    <div class="run-filters" role="search" aria-label="Filters">
      <div class="seg" role="group" aria-label="Presets">
        {PRESETS.map((preset) => <PresetLink {...{ query, counts, preset }} />)}
      </div>
      <Fields query={query} without={["text"]} class="field">
        <Icon name="search" />
        <input
          type="text"
          name="text"
          value={query.get("text") ?? ""}
          maxlength={LABEL_CHARS_MAX}
          placeholder="Goal, output, error or id"
          aria-label="Search goal, output, error and id"
          autocomplete="off"
        />
        <kbd>/</kbd>
      </Fields>
      {FILTERS.filter(({ name }) => !isInPreset(query, name)).flatMap((filter) => [
        query.has(filter.name) && <Chip {...{ query, counts, filter }} />,
        filter.not !== undefined && query.has(filter.not) && (
          <Chip {...{ query, counts, filter, isNot: true }} />
        ),
      ])}
      <details class="menu" id="add-filter">
        <summary class="btn plain">
          <Icon name="plus" /> Filter
        </summary>
        <div>
          {FILTERS.map((filter) => (
            <details name="filter">
              <summary>{filter.label}</summary>
              <Values {...{ query, counts, filter }} />
            </details>
          ))}
        </div>
      </details>
      {isFiltered(query) && <a href={cleared(query)}>Clear all</a>}
      <Period query={query} />
    </div>
  );
}

/** Builds the path of the list without filters, in the same range of time. */
function cleared(query: ListQuery): string {
  const names = [...FILTERS.flatMap(({ name, not = name }) => [name, not]), "text"];
  return listPath(query, Object.fromEntries(names.map((name) => [name, null])));
}

function PresetLink({ query, counts, preset }: BarProps & { readonly preset: Preset }) {
  const { name, filters } = preset;
  // Counts are of all runs.
  const ofStatus = isOnlyPreset(query) ? counts.get("status") : undefined;
  const count = filters.status.reduce((sum, status) => sum + (ofStatus?.get(status) ?? 0), 0);
  return (
    <a href={listPath(query, filters)} aria-current={isPreset(query, preset) ? "true" : undefined}>
      {name}{" "}
      {count > 0 && <span class={name === "Failed" ? "tag bad" : "tag"}>{formatCount(count)}</span>}
    </a>
  );
}

interface FieldsProps {
  readonly query: ListQuery;
  /** Parameters that the fields replace. */
  readonly without: readonly string[];
  readonly class: string;
  readonly children?: Child;
}

/** A form that changes some parameters of the list and keeps the others. */
function Fields({ query, without, class: name, children }: FieldsProps) {
  const kept = changed(query, Object.fromEntries(without.map((name) => [name, null])));
  return (
    <form method="get" action={RUNS_PATH} class={name}>
      {[...kept].map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {children}
    </form>
  );
}

interface FilterProps extends BarProps {
  readonly filter: Filter;
  /** True for the values that a run must not have. */
  readonly isNot?: boolean;
}

/** A filter that is set: it opens the known values, and its cross removes it. */
function Chip({ query, counts, filter, isNot = false }: FilterProps) {
  const { name, label, not = name, values = [] } = filter;
  const parameter = isNot ? not : name;
  const texts = new Map(values);
  const set = query.getAll(parameter).map((value) => texts.get(value) ?? value);
  const words = isNot ? `${label} is not` : label;
  return (
    <span class="chip">
      <details class="menu">
        <summary>
          {words} <b>{set.join(" or ")}</b>
        </summary>
        <div>
          <Values {...{ query, counts, filter }} />
        </div>
      </details>
      <a
        class="off"
        href={listPath(query, { [parameter]: null })}
        aria-label={`${words} ${set.join(" or ")}: remove this filter`}
      >
        <Icon name="close" />
      </a>
    </span>
  );
}

/** Values of a menu; others can be typed. */
const VALUES_SHOWN = 12;

/** The known values of a filter as links that add or remove them, and a field for others. */
function Values({ query, counts, filter }: FilterProps) {
  const { name, not, typed, isMany = false } = filter;
  const counted = counts.get(name);
  const known = filter.values ?? [...counted?.keys() ?? []].map((value) => [value, value] as const);
  return (
    <>
      {known.slice(0, VALUES_SHOWN).map(([value, text]) => (
        <div class="value">
          <a
            href={togglePath(query, name, value, isMany)}
            aria-current={query.getAll(name).includes(value) ? "true" : undefined}
          >
            {text}
            {counted?.has(value) === true && (
              <span class="end">{formatCount(counted.get(value) ?? 0)}</span>
            )}
          </a>
          {not !== undefined && (
            <a
              class="not"
              href={togglePath(query, not, value)}
              aria-current={query.getAll(not).includes(value) ? "true" : undefined}
              aria-label={`${filter.label} is not ${text}`}
              title="is not"
            >
              ≠
            </a>
          )}
        </div>
      ))}
      {typed !== undefined && <Typed {...{ query, filter, typed, isMany }} />}
    </>
  );
}

interface TypedProps extends Pick<FilterProps, "query" | "filter"> {
  readonly typed: string;
  readonly isMany: boolean;
}

function Typed({ query, filter: { name, label }, typed, isMany }: TypedProps) {
  return (
    <Fields query={query} without={isMany ? [] : [name]} class="typed">
      <input
        type="text"
        name={name}
        placeholder={typed}
        aria-label={label}
        maxlength={LABEL_CHARS_MAX}
        autocomplete="off"
      />
      <button type="submit" class="btn small">Add</button>
    </Fields>
  );
}

const PERIODS: Readonly<Record<typeof RUNS_SINCE[number], string>> = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

/** The range of time of the list. */
function Period({ query }: { readonly query: ListQuery }) {
  const since = RUNS_SINCE.find((period) => period === query.get("since"));
  const [from, to] = [query.get("from"), query.get("to")];
  const days = [from === null ? "" : `From ${from}`, to === null ? "" : `to ${to}`].join(" ")
    .trim();
  const pathOf = (changes: Changes) =>
    listPath(query, { since: null, from: null, to: null, ...changes });
  return (
    <details class="menu period">
      <summary class="btn">
        {days || (since === undefined ? "Any time" : PERIODS[since])} <Icon name="chevron" />
      </summary>
      <div>
        <a href={pathOf({})}>Any time</a>
        {RUNS_SINCE.map((period) => <a href={pathOf({ since: period })}>{PERIODS[period]}</a>)}
        <hr />
        <Fields query={query} without={["since", "from", "to"]} class="between">
          {(["from", "to"] as const).map((name) => (
            <label>
              {name === "from" ? "From" : "To"} <DayInput name={name} value={query.get(name)} />
            </label>
          ))}
          <button type="submit" class="btn small">Apply</button>
          <small>Days in UTC</small>
        </Fields>
      </div>
    </details>
  );
}

function DayInput({ name, value }: { readonly name: string; readonly value: string | null }) {
  const isDay = value === null || /^\d{4}-\d\d-\d\d$/.test(value);
  return <input type={isDay ? "date" : "text"} name={name} value={value ?? ""} />;
}
