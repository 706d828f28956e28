/** Controls of the page: periods, groupings, filters. */
import type { Problem } from "../../../domain/core/errors.ts";
import { FILTERS } from "../../../domain/runs/filters.ts";
import {
  type Grouping,
  SPEND_DAYS_DEFAULT,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { SPEND_PATH } from "../layout/paths.ts";
import { Choices } from "../components/choices.tsx";
import { LabeledInput, LabeledSelect } from "../components/form_fields.tsx";
import { type SpendPageQuery, spendPath } from "./paths.ts";

const DAY_MS = 86_400_000;

/** Returns common periods: name, first day, last day. */
function periodsAt(nowMs: number): readonly (readonly [string, string, string])[] {
  const day = (ms: number) => formatInstant(ms).slice(0, 10);
  const today = day(nowMs);
  const last = (days: number) => day(nowMs - (days - 1) * DAY_MS);
  const month = `${today.slice(0, 7)}-01`;
  const endOfLast = day(Date.parse(month) - DAY_MS);
  return [
    ["Today", today, today],
    ["7 days", last(7), today],
    ["14 days", last(14), today],
    [`${SPEND_DAYS_DEFAULT} days`, last(SPEND_DAYS_DEFAULT), today],
    ["This month", month, today],
    ["Last month", `${endOfLast.slice(0, 7)}-01`, endOfLast],
  ];
}

interface ControlsProps {
  readonly parameters: SpendPageQuery;
  /** Null if the request was rejected. */
  readonly query: SpendQuery | null;
}

/** Links to common periods. */
export function Periods(
  { parameters, query, nowMs }: ControlsProps & { readonly nowMs: number },
) {
  return (
    <Choices
      label="Period"
      links={periodsAt(nowMs).map(([name, from, to]) => ({
        name,
        to: spendPath(parameters, { from, to }),
        isCurrent: query?.from === from && query.to === to,
      }))}
    />
  );
}

const GROUPING_NAMES: readonly (readonly [Grouping, string])[] = [
  ["agent", "By agent"],
  ["customer", "By customer"],
  ["feature", "By feature"],
  ["model", "By model"],
  ["status", "By status"],
  ["day", "By day"],
];

/** Links to the same days under another grouping. */
export function Groupings({ parameters, query }: ControlsProps) {
  return (
    <Choices
      label="Group by"
      class="choices tabs"
      links={GROUPING_NAMES.map(([grouping, name]) => ({
        name,
        to: spendPath(parameters, { group_by: grouping }),
        isCurrent: query?.groupBy === grouping,
      }))}
    />
  );
}

const LABELS: Readonly<Record<typeof FILTERS[number]["parameter"], string>> = {
  agent: "Agent",
  customer_id: "Customer",
  feature: "Feature",
  model: "Model",
  provider: "Provider",
  status: "Status",
};

interface FiltersProps extends ControlsProps {
  readonly problem: Problem | null;
}

/** The form for days and filters; open while a filter is in use. */
export function Filters({ parameters, query, problem }: FiltersProps) {
  const filtered = FILTERS.filter(({ parameter }) => parameters.has(parameter)).length;
  const none = Object.fromEntries(FILTERS.map(({ parameter }) => [parameter, null]));
  return (
    <details class="more" open={filtered > 0 || problem !== null}>
      <summary>
        Other days and filters{filtered === 0 ? "" : ` (${filtered} in use)`}
      </summary>
      <form method="get" action={SPEND_PATH} class="filters">
        <input type="hidden" name="group_by" value={parameters.get("group_by") ?? ""} />
        <DayInput name="from" label="From (UTC day)" {...{ parameters, query, problem }} />
        <DayInput name="to" label="To, inclusive" {...{ parameters, query, problem }} />
        {FILTERS.map(({ parameter: name }) =>
          name === "status"
            ? (
              <LabeledSelect
                name={name}
                label={LABELS[name]}
                value={parameters.get(name) ?? null}
                options={STATUS_OPTIONS}
              />
            )
            : (
              <LabeledInput
                name={name}
                label={LABELS[name]}
                value={parameters.get(name) ?? ""}
                problem={problem}
              />
            )
        )}
        <button type="submit">Show</button>
        {filtered === 0 ? null : <a href={spendPath(parameters, none)}>Without filters</a>}
      </form>
      {problem === null || isField(problem) ? null : <p role="alert">{problem.message}.</p>}
    </details>
  );
}

const STATUS_OPTIONS = [
  ["", "any"],
  ...["running", ...FINISH_STATUSES].map((status) => [status, status] as const),
] as const;

interface DayInputProps extends FiltersProps {
  readonly name: "from" | "to";
  readonly label: string;
}

function DayInput({ name, label, parameters, query, problem }: DayInputProps) {
  return (
    <LabeledInput
      name={name}
      label={label}
      // A date field cannot show text that is not a day.
      type={problem?.field === name ? "text" : "date"}
      value={query?.[name] ?? parameters.get(name) ?? ""}
      problem={problem}
    />
  );
}

/** Returns whether a field of the form shows the problem. */
function isField({ field }: Problem): boolean {
  return field === "from" || field === "to" ||
    FILTERS.some(({ parameter }) => parameter !== "status" && parameter === field);
}
