/** The filters of the run list: API parameters as a form, and as links that remove one. */
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS, RUN_TRAITS, type RunTrait } from "../../../domain/runs/list.ts";
import { RUNS_PER_PAGE } from "../../../domain/runs/list_query.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { Field, FormProblem, type Option, Select } from "../components/form_fields.tsx";

/** A filter: an API parameter under its own name. */
interface Filter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; absent for free text. */
  readonly options?: readonly Option[];
  /** True for a day or an instant. */
  readonly isDay?: true;
  readonly hint?: string;
}

/** Labels for traits. */
const TRAIT_LABELS: Readonly<Record<RunTrait, string>> = {
  unpriced: "a model without a price",
  failed_check: "a failed check",
  late: "events after its end",
  orphan: "no opening yet",
};

/** Builds options whose labels are their values. */
function plain(values: readonly string[]): readonly Option[] {
  return values.map((value) => [value, value]);
}

const COMMON: readonly Filter[] = [
  { name: "status", label: "Status", options: plain(["running", ...FINISH_STATUSES]) },
  { name: "agent", label: "Agent" },
  { name: "customer_id", label: "Customer" },
  { name: "from", label: "From", isDay: true },
  { name: "to", label: "To", isDay: true },
];

const RARE: readonly Filter[] = [
  { name: "feature", label: "Feature" },
  { name: "model", label: "Model" },
  { name: "provider", label: "Provider", hint: "Of that model" },
  { name: "kind", label: "Kind", options: plain(RUN_KINDS) },
  { name: "has", label: "Has", options: RUN_TRAITS.map((trait) => [trait, TRAIT_LABELS[trait]]) },
  { name: "min_cost_usd", label: "Cost from", hint: "Dollars, such as 0.25" },
  { name: "q", label: "Run id", hint: "Or a part of it" },
];

const LIMIT: Filter = {
  name: "limit",
  label: "Runs a page",
  hint: `At most ${RUNS_PER_PAGE.max}; ${RUNS_PER_PAGE.default} by default`,
};

const FILTERS: readonly Filter[] = [...COMMON, ...RARE];
const FIELDS: readonly Filter[] = [...FILTERS, LIMIT];

/** Request parameters by name; none is empty. */
export type RunListQuery = ReadonlyMap<string, string>;

/** Reads the parameters as typed; none if the query is malformed. */
export function readRunListQuery(query: string): RunListQuery {
  const parameters = parseQuery(query);
  return parameters.ok ? parameters.value : new Map();
}

/** Returns whether the list is live; only the first page can be. */
export function isLiveList(filters: RunListQuery): boolean {
  return filters.get("live") === "1" && !filters.has("cursor");
}

/** Returns the parameter of a link that keeps the list live if it is. */
export function liveParameter(filters: RunListQuery) {
  return { live: isLiveList(filters) ? "1" : null };
}

/** Returns whether any filter is set; the page size is not a filter. */
export function isFiltered(filters: RunListQuery): boolean {
  return FILTERS.some(({ name }) => filters.has(name));
}

/**
 * Builds the path of a list with the same filters, except those in `changed`; null removes one.
 *
 * @param form extension of an export; an empty string for the page
 */
export function listPath(
  filters: RunListQuery,
  changed: Readonly<Record<string, string | null>> = {},
  form: "" | ".csv" | ".ndjson" = "",
): string {
  // The list accepts a provider only together with a model.
  const changes = changed["model"] === null ? { ...changed, provider: null } : changed;
  const unchanged = FIELDS.map(({ name }) => name).filter((name) => !(name in changes))
    .map((name) => [name, filters.get(name)] as const);
  return RUNS_PATH + form + queryText([...unchanged, ...Object.entries(changes)]);
}

interface FormProps {
  readonly filters: RunListQuery;
  readonly problem: Problem | null;
}

/** Shows the form, with an error at its field. */
export function FilterForm({ filters, problem }: FormProps) {
  const isOpen = [...RARE, LIMIT].some(({ name }) => filters.has(name) || problem?.field === name);
  const renderField = (filter: Filter) => <FilterField {...{ filter, filters, problem }} />;
  return (
    <form class="run-filters" method="get" action={RUNS_PATH} aria-label="Filters">
      <FormProblem problem={problem} fields={FIELDS.map(({ name }) => name)} />
      {isLiveList(filters) && <input type="hidden" name="live" value="1" />}
      <div class="filters">
        {COMMON.map(renderField)}
        <button type="submit" class="btn">Show</button>
      </div>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div class="filters">{[...RARE, LIMIT].map(renderField)}</div>
        <p class="soft">
          <code>{UNATTRIBUTED}</code>{" "}
          as agent, customer, feature or provider finds runs that have none.
        </p>
      </details>
    </form>
  );
}

function FilterField({ filter, filters, problem }: FormProps & { readonly filter: Filter }) {
  const { name, label, options, isDay, hint } = filter;
  const value = filters.get(name) ?? "";
  const shared = { name, label, value, problem, hint };
  return options === undefined
    ? <Field {...shared} type={isDay && isDayText(value) ? "date" : "text"} />
    : <Select {...shared} options={[["", "any"], ...options]} />;
}

/** Returns whether a date field can show a text. */
function isDayText(value: string): boolean {
  return /^(\d{4}-\d\d-\d\d)?$/.test(value);
}

/** The filters that are set, each a link to the list without it. */
export function Chips({ filters }: { readonly filters: RunListQuery }) {
  if (!isFiltered(filters)) return null;
  return (
    <ul class="chips" aria-label="Filters that are set">
      {FILTERS.filter(({ name }) => filters.has(name)).map(({ name, label, options }) => {
        const value = filters.get(name) ?? "";
        const text = options?.find(([option]) => option === value)?.[1] ?? value;
        return (
          <li>
            <a
              class="chip"
              href={listPath(filters, { [name]: null, ...liveParameter(filters) })}
              aria-label={`${label} ${text}: remove this filter`}
            >
              {label} <b>{text}</b> <span aria-hidden="true">✕</span>
            </a>
          </li>
        );
      })}
      <li>
        <a href={listPath(new Map(), liveParameter(filters))}>Clear all</a>
      </li>
    </ul>
  );
}
