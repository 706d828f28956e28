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
import { Choices } from "../components/elements.tsx";
import { LabeledInput, LabeledSelect } from "../components/form_fields.tsx";
import { capitalized } from "./labels.ts";
import { spendPath } from "./paths.ts";

/** Months with a link each, this one included. */
const MONTHS = 3;

const monthName = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });

/** Returns common periods: name, first day, last day. */
function periodsAt(nowMs: number): readonly (readonly [string, string, string])[] {
  const today = dayOf(nowMs);
  const [year, month] = [new Date(nowMs).getUTCFullYear(), new Date(nowMs).getUTCMonth()];
  return [
    ["Today", today, today],
    ...[7, SPEND_DAYS_DEFAULT].map((days) =>
      [`${days} days`, dayOf(nowMs - (days - 1) * DAY_MS), today] as const
    ),
    ...Array.from({ length: MONTHS }, (_, ago) => {
      const first = Date.UTC(year, month - ago);
      const last = Math.min(nowMs, Date.UTC(year, month - ago + 1) - DAY_MS);
      return [monthName.format(first), dayOf(first), dayOf(last)] as const;
    }),
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
export function Controls(
  { parameters, query, problem, nowMs }: ControlsProps & { readonly nowMs: number },
) {
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
      <Filters parameters={parameters} query={query} problem={problem} />
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
            name={name}
            label={label}
            problem={problem}
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
