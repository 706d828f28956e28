/** `/dashboard/spend`: the cost of runs, by group and by day, and its export as CSV. */
import { type DashboardPage, get } from "../layout/page.ts";
import { SPEND_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { type Parameters, parseQuery } from "../../../domain/core/query.ts";
import { dailySpendOf } from "../../../domain/spend/daily.ts";
import { csvLine, textCell } from "../../../domain/core/csv.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { dollarsText, type Picodollars } from "../../../domain/pricing/money.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { costPerSuccess, type SpendGroup, spendOf } from "../../../domain/spend/spend.ts";
import {
  type Grouping,
  parseSpendQuery,
  parseUnpricedQuery,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { answerText, fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { rowsOf, unpricedModels } from "../../api/spend/spend.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty, Money, Tile } from "../components/elements.tsx";
import {
  type CommandTarget,
  commandTarget,
  costCommand,
  FirstCommand,
} from "../components/first_command.tsx";
import { compactText, countedText, formatCount, percentText } from "../components/format.ts";
import { SpendChart } from "./chart.tsx";
import { Controls } from "./controls.tsx";
import { queryWith, runsOfGroupPath, type SpendAnswer, spendQueryText } from "./paths.ts";
import { DayTable, GroupTable } from "./tables.tsx";
import { daySpan } from "./labels.ts";
import { UnpricedBanner } from "./unpriced_banner.tsx";

const showSpend: Handler = async (c, deps) => {
  const parsed = parseQuery(queryOf(c));
  if (!parsed.ok) return fail(c, parsed.problem);
  const parameters = parsed.value;
  const nowMs = deps.environment.now();
  const query = parseSpendQuery(spendQueryText(queryOf(c)), nowMs);
  if (!query.ok) return showRefused(c, parameters, nowMs, query.problem);
  const { team } = c.get("principal");
  const read = rowsOf(deps.spend, team, query.value);
  const spend = await deps.spend.ask(team, () => dailySpendOf(query.value, read));
  if (!spend.ok) return showRefused(c, parameters, nowMs, spend.problem);
  const before = await costBefore(deps, team, query.value);
  const { unpricedCalls, uncountedCalls } = spend.value.totals;
  const banner = unpricedCalls + uncountedCalls > 0 ? await bannerOf(deps, c, nowMs) : null;
  return showPage(c, {
    title: "Spend",
    aside: (
      <a class="btn" href={`${SPEND_PATH}.csv${queryWith(parameters)}`} download>Download as CSV</a>
    ),
    body: (
      <>
        <Controls parameters={parameters} query={query.value} problem={null} nowMs={nowMs} />
        {spend.value.totals.runs === 0
          ? <NoRuns target={await commandTarget(deps, c)} query={query.value} />
          : (
            <Answer
              answer={{ parameters, query: query.value, spend: spend.value, before }}
              banner={banner}
            />
          )}
      </>
    ),
  });
};

/** Returns the cost of as many days before, with the same filters; null if it is too much to read. */
async function costBefore(
  { spend }: AppDeps,
  team: Team,
  { from, to, filters }: SpendQuery,
): Promise<Picodollars | null> {
  const firstMs = Date.parse(from);
  const query: SpendQuery = {
    from: dayOf(2 * firstMs - Date.parse(to) - DAY_MS),
    to: dayOf(firstMs - DAY_MS),
    groupBy: "day",
    filters,
  };
  const sums = await spend.ask(team, () => spendOf(query, rowsOf(spend, team, query)));
  return sums.ok ? sums.value.totals.cost : null;
}

/** Returns the banner of models whose calls cost 0 in the same days. */
async function bannerOf(deps: AppDeps, c: RequestContext, nowMs: number): Promise<Child> {
  const query = parseUnpricedQuery(queryOf(c), nowMs);
  if (!query.ok) return null;
  const principal = c.get("principal");
  const unpriced = await unpricedModels(deps, principal.team, query.value);
  if (!unpriced.ok) return null;
  const mayPrice = mayAdmin(principal);
  return <UnpricedBanner unpriced={unpriced.value} query={query.value} mayPrice={mayPrice} />;
}

/** Shows the form again with the submitted values and the error. */
function showRefused(
  c: RequestContext,
  parameters: Parameters,
  nowMs: number,
  problem: Problem,
): Response {
  c.set("problem", problem);
  return showPage(c, {
    title: "Spend",
    problem,
    body: <Controls parameters={parameters} query={null} problem={problem} nowMs={nowMs} />,
  });
}

interface AnswerProps {
  readonly answer: SpendAnswer;
}

function Answer({ answer, banner }: AnswerProps & { readonly banner: Child }) {
  return (
    <>
      <Headline answer={answer} />
      {banner}
      <Tiles answer={answer} />
      <SpendChart answer={answer} />
      <GroupTable answer={answer} />
      <DayTable spend={answer.spend} />
    </>
  );
}

/** Shows the total in one sentence, beside that of the days before. */
function Headline({ answer: { query, spend, before } }: AnswerProps) {
  const { totals, daily, days } = spend;
  const named = daily.flatMap(({ group }) => group ?? []).slice(0, 3)
    .map(({ key, measures }) => `${key} ${percentText(measures.cost, totals.cost)}`);
  return (
    <p class="headline">
      <strong>
        <Money of={totals.cost} />
      </strong>{" "}
      {daySpan(query.from, query.to)}
      {named.length > 0 && `: ${named.join(", ")}`}.{before !== null && (
        <span class="soft">
          {" "}
          <Change now={totals.cost} before={before} days={days.length} />
        </span>
      )}
    </p>
  );
}

interface ChangeProps {
  readonly now: Picodollars;
  readonly before: Picodollars;
  readonly days: number;
}

function Change({ now, before, days }: ChangeProps) {
  const period = days === 1 ? "the day before" : `the ${days} days before`;
  if (before === 0n) return <>Nothing in {period}.</>;
  const [sign, word, more] = now >= before ? ["▲", "more", now - before] : [
    "▼",
    "less",
    before - now,
  ];
  return (
    <>
      <span aria-hidden="true">{sign}</span> {percentText(more, before)} {word} than{" "}
      <Money of={before} /> in {period}.
    </>
  );
}

function Tiles({ answer }: AnswerProps) {
  const { totals } = answer.spend;
  const perSuccess = costPerSuccess(totals);
  const runs = runsOfGroupPath(answer, null);
  return (
    <div class="tiles">
      <Tile name="Cost " value={<Money of={totals.cost} />}>
        <span class="soft">{countedText(totals.calls, "model call")}</span>
      </Tile>
      <Tile name="Runs " value={formatCount(totals.runs)}>
        {runs && <a href={runs}>See the runs</a>}
      </Tile>
      <Tile name="Successful runs " value={formatCount(totals.succeeded)}>
        <span class="soft">{percentText(totals.succeeded, totals.runs)} of all</span>
      </Tile>
      <Tile
        name="Cost per successful run "
        value={perSuccess === null ? "–" : <Money of={perSuccess} />}
      >
        <span class="soft">all cost, failed runs too</span>
      </Tile>
      <Tile
        name="Tokens in "
        value={compactText(totals.inputTokens)}
        valueAttributes={{ title: formatCount(totals.inputTokens) }}
      >
        <span class="soft">{compactText(totals.cachedInputTokens)} of them cached</span>
      </Tile>
      <Tile
        name="Tokens out "
        value={compactText(totals.outputTokens)}
        valueAttributes={{ title: formatCount(totals.outputTokens) }}
      />
    </div>
  );
}

interface NoRunsProps {
  readonly target: CommandTarget;
  readonly query: SpendQuery;
}

/** Shows how to send a run, or how to find runs. */
function NoRuns({ target, query }: NoRunsProps) {
  if (Object.keys(query.filters).length > 0) {
    return (
      <Empty title="No such runs">
        <p>
          No run {daySpan(query.from, query.to)} passes these filters.{" "}
          <a href={SPEND_PATH}>Look at all runs of the last 30 days</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={`Nothing ran ${daySpan(query.from, query.to)}`}>
      <p>Send a run with its tokens, and its cost is shown here a moment later.</p>
      <FirstCommand id="first-cost" text={costCommand(target)} target={target} />
    </Empty>
  );
}

/** Responds with the groups of the page as CSV. */
const sendSpendCsv: Handler = async (c, { spend, environment }) => {
  const query = parseSpendQuery(spendQueryText(queryOf(c)), environment.now());
  if (!query.ok) return fail(c, query.problem);
  const { from, to, groupBy } = query.value;
  const { team } = c.get("principal");
  const read = rowsOf(spend, team, query.value);
  const sums = await spend.ask(team, () => spendOf(query.value, read));
  if (!sums.ok) return fail(c, sums.problem);
  const columns = columnsFor(groupBy);
  const lines = sums.value.groups.map((group) =>
    csvLine(columns.map(([, cell]) => String(cell(group))))
  );
  const text = csvLine(columns.map(([name]) => name)) + lines.join("");
  return answerText(c, 200, text, "text/csv; charset=utf-8; header=present", {
    "Content-Disposition": `attachment; filename="spend-${groupBy}-${from}-${to}.csv"`,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
};

type CsvColumn = readonly [name: string, cell: (group: SpendGroup) => string | number | bigint];

/** Metric columns; a cell is empty if its value is unknown. */
const SUM_COLUMNS: readonly CsvColumn[] = [
  ["groups_folded", ({ folded }) => folded ?? ""],
  ["cost_usd", ({ measures }) => dollarsText(measures.cost)],
  ["runs", ({ measures, runsKnown }) => runsKnown ? measures.runs : ""],
  ["successful_runs", ({ measures, runsKnown }) => runsKnown ? measures.succeeded : ""],
  ["cost_per_successful_run", ({ measures, runsKnown }) => {
    const perSuccess = runsKnown ? costPerSuccess(measures) : null;
    return perSuccess === null ? "" : dollarsText(perSuccess);
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

function columnsFor(groupBy: Grouping): readonly CsvColumn[] {
  if (groupBy !== "model") return [[groupBy, ({ key }) => textCell(key)], ...SUM_COLUMNS];
  return [
    ["provider", ({ model }) => textCell(model?.provider ?? "")],
    ["model", ({ model, key }) => textCell(model?.model ?? key)],
    ...SUM_COLUMNS,
  ];
}

/** The spend page and its export. */
export const spendPage: DashboardPage = {
  path: SPEND_PATH,
  menu: { name: "Spend", area: "main" },
  access: teamKey("read"),
  handler: showSpend,
  routes: [get(`${SPEND_PATH}.csv`, sendSpendCsv)],
};
