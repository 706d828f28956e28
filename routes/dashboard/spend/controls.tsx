/** Controls of the page: periods, groupings, filters. */
import type { Problem } from "../../../domain/core/errors.ts";
import type { Parameters } from "../../../domain/core/query.ts";
import { FILTERS } from "../../../domain/runs/filters.ts";
import {
  GROUPINGS,
  SPEND_DAYS_DEFAULT,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { SPEND_PATH } from "../layout/paths.ts";
import { Choices } from "../components/choices.tsx";
import { LabeledInput, LabeledSelect } from "../components/form_fields.tsx";
import { capitalized } from "./labels.ts";
import { spendPath } from "./paths.ts";

/** Returns common periods: name, first day, last day. */
function periodsAt(nowMs: number): readonly (readonly [string, string, string])[] {
  const today = dayOf(nowMs);
  const last = (days: number) => dayOf(nowMs - (days - 1) * DAY_MS);
  const month = `${today.slice(0, 7)}-01`;
  const endOfLast = dayOf(Date.parse(month) - DAY_MS);
  return [
    ["Today", today, today],
    ["7 days", last(7), today],
    ["14 days", last(14), today],
    [`${SPEND_DAYS_DEFAULT} days`, last(SPEND_DAYS_DEFAULT), today],
    ["This month", month, today],
    ["Last month", `${endOfLast.slice(0, 7)}-01`, endOfLast],
  ];
}

const TABS = [...GROUPINGS.filter((grouping) => grouping !== "day"), "day"];

interface ControlsProps {
  readonly parameters: Parameters;
  /** Null if the request was rejected. */
  readonly query: SpendQuery | null;
  readonly problem: Problem | null;
}

/** Links to common periods and other groupings, and the form for days and filters. */
export function Controls(props: ControlsProps & { readonly nowMs: number }) {
  const { parameters, query, nowMs } = props;
  return (
    <>
      <div class="actions">
        <Choices
          label="Period"
          links={periodsAt(nowMs).map(([name, from, to]) => ({
            name,
            to: spendPath(parameters, { from, to }),
            isCurrent: query?.from === from && query.to === to,
          }))}
        />
        {query === null ? null : (
          <Choices
            label="Group by"
            links={TABS.map((grouping) => ({
              name: `By ${grouping}`,
              to: spendPath(parameters, { group_by: grouping }),
              isCurrent: query.groupBy === grouping,
            }))}
          />
        )}
      </div>
      <Filters {...props} />
    </>
  );
}

const STATUS_OPTIONS = [
  ["", "any"],
  ...["running", ...FINISH_STATUSES].map((status) => [status, status] as const),
] as const;

const DAYS = [["from", "From (UTC day)"], ["to", "To, inclusive"]] as const;

/** Filters that are typed. */
const TYPED = FILTERS.filter(({ filter }) => filter !== "status");

/** Fields that show their errors. */
const FIELDS: readonly unknown[] = ["from", "to", ...TYPED.map(({ parameter }) => parameter)];

/** The form is open while a filter is in use. */
function Filters({ parameters, query, problem }: ControlsProps) {
  const filtered = FILTERS.filter(({ parameter }) => parameters.has(parameter)).length;
  const none = Object.fromEntries(FILTERS.map(({ parameter }) => [parameter, null]));
  return (
    <details class="more" open={filtered > 0 || problem !== null}>
      <summary>
        Other days and filters{filtered === 0 ? "" : ` (${filtered} in use)`}
      </summary>
      <form method="get" action={SPEND_PATH} class="filters">
        <input type="hidden" name="group_by" value={parameters.get("group_by") ?? ""} />
        {DAYS.map(([name, label]) => (
          <LabeledInput
            // A date field cannot show text that is not a day.
            type={problem?.field === name ? "text" : "date"}
            value={query?.[name] ?? parameters.get(name) ?? ""}
            {...{ name, label, problem }}
          />
        ))}
        {TYPED.map(({ parameter, filter }) => (
          <LabeledInput
            name={parameter}
            label={capitalized(filter)}
            value={parameters.get(parameter) ?? ""}
            problem={problem}
          />
        ))}
        <LabeledSelect
          name="status"
          label="Status"
          value={parameters.get("status") ?? null}
          options={STATUS_OPTIONS}
        />
        <button type="submit" class="btn">Show</button>
        {filtered === 0 ? null : <a href={spendPath(parameters, none)}>Without filters</a>}
      </form>
      {problem !== null && !FIELDS.includes(problem.field) && <p role="alert">{problem.message}.
      </p>}
    </details>
  );
}
