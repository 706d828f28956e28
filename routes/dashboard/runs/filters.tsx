/** The filters of the list of runs: the API's parameters as a form, and as links that take one away. */
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS, RUN_TRAITS, type RunTrait } from "../../../domain/runs/list.ts";
import { RUNS_PER_PAGE } from "../../../domain/runs/list_query.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { Choice, Field, FormProblem } from "../components/form_fields.tsx";

/** A filter: a parameter of the API under its own name. */
interface Filter {
  readonly name: string;
  readonly label: string;
  /** What it can be, with what people are told; absent where it is any text. */
  readonly words?: readonly (readonly [word: string, told: string])[];
  /** Whether it is a day, or an instant. */
  readonly isDay?: true;
  readonly hint?: string;
}

/** What people are told of each trait. */
const TRAITS: Readonly<Record<RunTrait, string>> = {
  unpriced: "a model without a price",
  failed_check: "a failed check",
  late: "events after its end",
  orphan: "no opening yet",
};

/** Words that are told as they are. */
function plain(words: readonly string[]): readonly (readonly [string, string])[] {
  return words.map((word) => [word, word]);
}

const COMMON: readonly Filter[] = [
  { name: "status", label: "Status", words: plain(["running", ...FINISH_STATUSES]) },
  { name: "agent", label: "Agent" },
  { name: "customer_id", label: "Customer" },
  { name: "from", label: "From", isDay: true },
  { name: "to", label: "To", isDay: true },
];

const RARE: readonly Filter[] = [
  { name: "feature", label: "Feature" },
  { name: "model", label: "Model" },
  { name: "provider", label: "Provider", hint: "Of that model" },
  { name: "kind", label: "Kind", words: plain(RUN_KINDS) },
  { name: "has", label: "Has", words: RUN_TRAITS.map((trait) => [trait, TRAITS[trait]]) },
  { name: "min_cost_usd", label: "Cost from", hint: "Dollars, such as 0.25" },
  { name: "q", label: "Run id", hint: "Or a part of it" },
];

const LIMIT: Filter = {
  name: "limit",
  label: "Runs a page",
  hint: `At most ${RUNS_PER_PAGE.max}; ${RUNS_PER_PAGE.default} unless told`,
};

const FILTERS: readonly Filter[] = [...COMMON, ...RARE];
const FIELDS: readonly Filter[] = [...FILTERS, LIMIT];

/** What was asked for, by the names of the parameters; none of it is empty. */
export type RunListQuery = ReadonlyMap<string, string>;

/** Reads what was asked for, as it was typed; nothing where the query is not even one. */
export function readRunListQuery(query: string): RunListQuery {
  const parameters = parseQuery(query);
  return parameters.ok ? parameters.value : new Map();
}

/** Whether any filter is set; how many a page shows is none. */
export function isFiltered(asked: RunListQuery): boolean {
  return FILTERS.some(({ name }) => asked.has(name));
}

/**
 * The address of a list with the same filters, but for what is changed; null takes one away.
 *
 * @param form of a file; the empty text for the page
 */
export function listPath(
  asked: RunListQuery,
  changed: Readonly<Record<string, string | null>> = {},
  form: "" | ".csv" | ".ndjson" = "",
): string {
  const kept = FIELDS.filter(({ name }) => !(name in changed));
  const pairs = [
    ...kept.map(({ name }) => [name, asked.get(name)] as const),
    ...Object.entries(changed),
  ];
  return RUNS_PATH + form + queryText(pairs);
}

interface FormProps {
  readonly asked: RunListQuery;
  /** Whether the list is followed, and goes on to be. */
  readonly live: boolean;
  readonly problem: Problem | null;
}

/** The form; a refusal stands at the field that it is of. */
export function FilterForm({ asked, live, problem }: FormProps) {
  const isOpen = [...RARE, LIMIT].some(({ name }) => asked.has(name) || problem?.field === name);
  const shown = (filter: Filter) => <FilterField {...{ filter, asked, problem }} />;
  return (
    <form class="run-filters" method="get" action={RUNS_PATH} aria-label="Filters">
      <FormProblem problem={problem} fields={FIELDS.map(({ name }) => name)} />
      {live ? <input type="hidden" name="live" value="1" /> : null}
      <div class="filters">
        {COMMON.map(shown)}
        <button type="submit">Show</button>
      </div>
      <details open={isOpen}>
        <summary>More filters</summary>
        <div class="filters">{[...RARE, LIMIT].map(shown)}</div>
        <p class="soft">
          <code>{UNATTRIBUTED}</code>{" "}
          as agent, customer, feature or provider finds runs that have none.
        </p>
      </details>
    </form>
  );
}

function FilterField(
  { filter, asked, problem }: Omit<FormProps, "live"> & { readonly filter: Filter },
) {
  const { name, label, words, isDay, hint } = filter;
  const value = asked.get(name) ?? "";
  const shared = { name, label, value, problem, ...(hint === undefined ? {} : { hint }) };
  return words === undefined
    ? <Field {...shared} type={typeOf(isDay, value)} />
    : <Choice {...shared} words={[["", "any"], ...words]} />;
}

/** A field for days shows nothing else, and what was typed is to be seen. */
function typeOf(isDay: true | undefined, value: string): "date" | "text" {
  return isDay && /^(\d{4}-\d\d-\d\d)?$/.test(value) ? "date" : "text";
}

/** The filters that are set, each a link to the list without it. */
export function Chips({ asked, live }: { readonly asked: RunListQuery; readonly live: boolean }) {
  if (!isFiltered(asked)) return null;
  const kept = { live: live ? "1" : null };
  return (
    <ul class="chips" aria-label="Filters that are set">
      {FILTERS.filter(({ name }) => asked.has(name)).map(({ name, label, words }) => {
        const value = asked.get(name) ?? "";
        const told = words?.find(([word]) => word === value)?.[1] ?? value;
        return (
          <li>
            <a
              class="chip"
              href={listPath(asked, { [name]: null, ...kept })}
              aria-label={`${label} ${told}: take this filter away`}
            >
              {label} <b>{told}</b> <span aria-hidden="true">✕</span>
            </a>
          </li>
        );
      })}
      <li>
        <a href={listPath(new Map(), kept)}>Clear all</a>
      </li>
    </ul>
  );
}
