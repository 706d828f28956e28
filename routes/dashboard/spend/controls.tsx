/** What chooses the question: periods, groupings, filters. */
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
import { type SpendPageQuery, spendPath } from "./paths.ts";

const DAY_MS = 86_400_000;

/** Days that people ask for, by what they are called. */
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

interface Controls {
  readonly asked: SpendPageQuery;
  /** Null where what was asked cannot be answered. */
  readonly query: SpendQuery | null;
}

/** Links to the days that people ask for. */
export function Periods({ asked, query, nowMs }: Controls & { readonly nowMs: number }) {
  return (
    <nav class="choices" aria-label="Period">
      <ul>
        {periodsAt(nowMs).map(([name, from, to]) => (
          <li>
            <a
              href={spendPath(asked, { from, to })}
              {...(query?.from === from && query.to === to ? { "aria-current": "true" } : {})}
            >
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
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

/** Links to the same days by something else. */
export function Groupings({ asked, query }: Controls) {
  return (
    <nav class="choices tabs" aria-label="Group by">
      <ul>
        {GROUPING_NAMES.map(([grouping, name]) => (
          <li>
            <a
              href={spendPath(asked, { group_by: grouping })}
              {...(query?.groupBy === grouping ? { "aria-current": "true" } : {})}
            >
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
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

/** The form for days and filters; open where it says something. */
export function Filters(
  { asked, query, problem }: Controls & { readonly problem: Problem | null },
) {
  const filtered = FILTERS.filter(({ parameter }) => asked.has(parameter)).length;
  return (
    <details class="more" open={filtered > 0 || problem !== null}>
      <summary>
        Other days and filters{filtered === 0 ? "" : ` (${filtered} in use)`}
      </summary>
      <form method="get" action={SPEND_PATH} class="filters">
        <input type="hidden" name="group_by" value={asked.get("group_by") ?? ""} />
        <Field name="from" label="From (UTC day)" value={query?.from} {...{ asked, problem }} />
        <Field name="to" label="To, inclusive" value={query?.to} {...{ asked, problem }} />
        {FILTERS.map(({ parameter }) =>
          parameter === "status"
            ? <StatusField asked={asked} />
            : <Field name={parameter} label={LABELS[parameter]} {...{ asked, problem }} />
        )}
        <button type="submit">Show</button>
        {filtered === 0 ? null : (
          <a
            href={spendPath(
              asked,
              Object.fromEntries(FILTERS.map(({ parameter }) => [parameter, null])),
            )}
          >
            Without filters
          </a>
        )}
      </form>
      {problem === null || isField(problem) ? null : <p role="alert">{problem.message}.</p>}
    </details>
  );
}

/** Whether the form has the field that is wrong. */
function isField({ field }: Problem): boolean {
  return field === "from" || field === "to" ||
    FILTERS.some(({ parameter }) => parameter !== "status" && parameter === field);
}

interface FieldOf {
  readonly name: string;
  readonly label: string;
  readonly asked: SpendPageQuery;
  readonly problem: Problem | null;
  /** What counts where nothing was sent. */
  readonly value?: string | undefined;
}

function Field({ name, label, asked, problem, value }: FieldOf) {
  const isDay = name === "from" || name === "to";
  const isWrong = problem?.field === name;
  const sent = asked.get(name);
  return (
    <label>
      {label}
      <input
        // A browser shows nothing of a day that is none.
        type={isDay && !isWrong ? "date" : "text"}
        name={name}
        value={value ?? sent ?? ""}
        {...(isWrong ? { "aria-invalid": "true", "aria-describedby": `${name}-problem` } : {})}
      />
      {isWrong ? <small id={`${name}-problem`}>{problem.message}.</small> : null}
    </label>
  );
}

function StatusField({ asked }: Pick<Controls, "asked">) {
  return (
    <label>
      Status
      <select name="status">
        <option value="">any</option>
        {["running", ...FINISH_STATUSES].map((status) => (
          <option value={status} selected={asked.get("status") === status}>{status}</option>
        ))}
      </select>
    </label>
  );
}
