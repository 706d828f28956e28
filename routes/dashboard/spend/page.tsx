/** `/dashboard/spend`: the cost of runs, by group and by day, and its export as CSV. */
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { dollarsText } from "../../../domain/pricing/money.ts";
import { FILTERS } from "../../../domain/runs/filters.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { costPerSuccess, type SpendGroup } from "../../../domain/spend/spend.ts";
import { parseSpendQuery, type SpendQuery } from "../../../domain/spend/spend_query.ts";
import { answerText } from "../../http/answer.ts";
import type { RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { teamKey } from "../../http/access.ts";
import { askSpend } from "../../api/spend/spend.ts";
import { type DashboardPage, get, type PageHandler } from "../layout/page.tsx";
import { SPEND_PATH } from "../layout/paths.ts";
import { Empty, Money, Tabs, Tiles } from "../components/elements.tsx";
import { withSpendTabs } from "../budgets/scope.tsx";
import { type CommandTarget, FirstCommand } from "../components/first_command.tsx";
import { formOf, FormProblem, type Texts } from "../components/form_fields.tsx";
import { capitalized, countedText, formatCount, percentText } from "../components/format.ts";
import { FilterForm } from "../components/table.tsx";
import { DayTable, GroupTable, SpendChart, Tokens, UnpricedBanner } from "./tables.tsx";
import { loadSpend, type SpendData } from "./spend_load.ts";
import { choicesAt, daySpan, spendPath, spendView } from "./spend_view.ts";

const CSV_PATH = `${SPEND_PATH}.csv`;

/** Reads the query; groups by agent unless it says otherwise. */
function queryIn(c: RequestContext, nowMs: number) {
  // The first of repeated parameters wins.
  return parseSpendQuery(`${queryOf(c)}&group_by=agent`, nowMs);
}

const showSpend: PageHandler = async (visit) => {
  const { c, deps, isAdmin } = visit;
  const parameters = c.req.query();
  const nowMs = deps.environment.now();
  const viewOf = (data: SpendData | null, problem: Problem | null) =>
    withSpendTabs("Spend", {
      title: "Spend",
      aside: data && (
        <a class="btn" href={spendPath(parameters, {}, CSV_PATH)} download>Download as CSV</a>
      ),
      body: [
        <Controls query={data && data.query} {...{ parameters, problem, nowMs }} />,
        data !== null && (data.target === null
          ? <Answer {...{ data, parameters }} mayPrice={isAdmin} />
          : <NoRuns target={data.target} query={data.query} />),
      ],
    });
  visit.onProblem((problem) => viewOf(null, problem));
  const data = await loadSpend(visit, queryIn(c, nowMs));
  return viewOf(data, null);
};

const STATUSES = [["", "any"], "running", ...FINISH_STATUSES] as const;

/** Filters that are typed. */
const TYPED = FILTERS.filter(({ filter }) => filter !== "status");

/** Fields that show their errors. */
const FIELDS = ["from", "to", ...TYPED.map(({ parameter }) => parameter)];

interface ControlsProps {
  readonly parameters: Texts;
  /** Null if the request was rejected. */
  readonly query: SpendQuery | null;
  readonly problem: Problem | null;
  readonly nowMs: number;
}

/** Links to common periods and other groupings, and the form for days and filters. */
function Controls({ parameters, query, problem, nowMs }: ControlsProps) {
  const { from = "", to = "", groupBy = "" } = query ?? {};
  const current = query === null ? parameters : { ...parameters, from, to, group_by: groupBy };
  const { text, day, choice } = formOf(current, problem);
  const inUse = FILTERS.filter(({ parameter }) => parameters[parameter]);
  const none = Object.fromEntries(inUse.map(({ parameter }) => [parameter, null]));
  return (
    <>
      <div class="actions">
        {choicesAt(nowMs).map(([label, links]) => (
          <Tabs
            class="seg"
            label={label}
            tabs={links.map(([name, changes]) => ({
              name,
              to: spendPath(parameters, changes),
              isCurrent: Object.entries(changes).every(([key, value]) => current[key] === value),
            }))}
          />
        ))}
      </div>
      {/* The form sends its empty fields too: it stays open. */}
      <details class="more" open={"status" in parameters || inUse.length > 0 || problem !== null}>
        <summary>Other days and filters{inUse.length > 0 && ` (${inUse.length} in use)`}</summary>
        <FilterForm action={SPEND_PATH}>
          <input type="hidden" name="group_by" value={parameters.group_by ?? ""} />
          {day("from", "From (UTC day)")}
          {day("to", "To, inclusive")}
          {TYPED.map(({ parameter, filter }) => text(parameter, capitalized(filter)))}
          {choice("status", "Status", STATUSES)}
          {inUse.length > 0 && <a href={spendPath(parameters, none)}>Without filters</a>}
        </FilterForm>
        <FormProblem problem={problem} fields={FIELDS} />
      </details>
    </>
  );
}

interface AnswerProps {
  readonly data: SpendData;
  readonly parameters: Texts;
  readonly mayPrice: boolean;
}

function Answer({ data, parameters, mayPrice }: AnswerProps) {
  const view = spendView(data, parameters);
  const { totals, change: [sign, change] } = view;
  const span = daySpan(data.query);
  const succeeded = percentText(totals.succeeded, totals.runs);
  const cost = costPerSuccess(totals);
  const perSuccess = cost === null ? "–" : <Money of={cost} />;
  const cached = <Tokens of={totals.cachedInputTokens} />;
  return (
    <>
      <p class="headline">
        <strong>
          <Money of={totals.cost} />
        </strong>{" "}
        {span}
        {view.named && `: ${view.named}`}.{" "}
        <span class="soft">
          <span aria-hidden="true">{sign}</span> {change}
        </span>
      </p>
      {data.unpriced && <UnpricedBanner unpriced={data.unpriced} {...{ span, mayPrice }} />}
      <Tiles
        tiles={[
          ["Cost", <Money of={totals.cost} />, countedText(totals.calls, "model call")],
          ["Runs", formatCount(totals.runs), <a href={view.runs}>See the runs</a>],
          ["Successful runs", formatCount(totals.succeeded), `${succeeded} of all`],
          ["Cost per successful run", perSuccess, "all cost, failed runs too"],
          ["Tokens in", <Tokens of={totals.inputTokens} />, [cached, " of them cached"]],
          ["Tokens out", <Tokens of={totals.outputTokens} />],
        ]}
      />
      {totals.cost > 0n && <SpendChart view={view} />}
      <GroupTable view={view} />
      {totals.cost > 0n && <DayTable view={view} />}
    </>
  );
}

interface NoRunsProps extends Pick<SpendData, "query"> {
  readonly target: CommandTarget;
}

/** Shows how to send a run, or how to find runs. */
function NoRuns({ target, query }: NoRunsProps) {
  const span = daySpan(query);
  return Object.keys(query.filters).length > 0
    ? (
      <Empty title="No such runs">
        <p>
          No run {span} passes these filters. <a href={SPEND_PATH}>See the last 30 days</a>
        </p>
      </Empty>
    )
    : (
      <Empty title={`Nothing ran ${span}`}>
        <p>Send a run with its tokens, and its cost is shown here a moment later.</p>
        <FirstCommand id="first-cost" call="cost" target={target} />
      </Empty>
    );
}

/** Responds with the groups of the page as CSV. */
const sendSpendCsv: PageHandler = async ({ c, deps, team }) => {
  const query = queryIn(c, deps.environment.now());
  const sums = await askSpend(deps, team, query);
  const { from, to, groupBy } = query;
  const isModel = groupBy === "model";
  const names = isModel ? ["provider", "model"] : [groupBy];
  const lines = sums.groups.map((group) => {
    const { key, model } = group;
    const cells = isModel ? [model?.provider ?? "", model?.model ?? key] : [key];
    return [...cells.map(textCell), ...COLUMNS.map(([, cellOf]) => String(cellOf(group) ?? ""))];
  });
  const text = [[...names, ...COLUMNS.map(([name]) => name)], ...lines].map(csvLine).join("");
  return answerText(c, 200, text, "text/csv; charset=utf-8; header=present", {
    "Content-Disposition": `attachment; filename="spend-${groupBy}-${from}-${to}.csv"`,
    "Cache-Control": "no-store",
  });
};

type Cell = (group: SpendGroup) => string | number | bigint | null;

/** Metric columns; a cell is empty if its value is unknown. */
const COLUMNS: readonly (readonly [name: string, cellOf: Cell])[] = [
  ["groups_folded", ({ folded }) => folded],
  ["cost_usd", ({ measures }) => dollarsText(measures.cost)],
  ["runs", ({ measures, runsKnown }) => runsKnown ? measures.runs : null],
  ["successful_runs", ({ measures, runsKnown }) => runsKnown ? measures.succeeded : null],
  ["cost_per_successful_run", ({ measures, runsKnown }) => {
    const perSuccess = runsKnown ? costPerSuccess(measures) : null;
    return perSuccess === null ? null : dollarsText(perSuccess);
  }],
  ["events", ({ measures }) => measures.events],
  ["llm_calls", ({ measures }) => measures.calls],
  ["input_tokens", ({ measures }) => measures.inputTokens],
  ["output_tokens", ({ measures }) => measures.outputTokens],
  ["cached_input_tokens", ({ measures }) => measures.cachedInputTokens],
  ["unpriced_llm_calls", ({ measures }) => measures.unpricedCalls],
  ["unpriced_input_tokens", ({ measures }) => measures.unpricedInputTokens],
  ["unpriced_output_tokens", ({ measures }) => measures.unpricedOutputTokens],
  ["unpriced_cached_input_tokens", ({ measures }) => measures.unpricedCachedInputTokens],
];

export const spendPage: DashboardPage = {
  path: SPEND_PATH,
  menu: { name: "Spend", area: "main" },
  access: teamKey("read"),
  handler: showSpend,
  routes: [get(CSV_PATH, sendSpendCsv)],
};
