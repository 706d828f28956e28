/** `/dashboard/spend`: the cost of runs, by group and by day. */
import { type DashboardPage, get } from "../layout/page.ts";
import { SPEND_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { type DailySpend, dailySpendOf } from "../../../domain/spend/daily.ts";
import { costPerSuccess } from "../../../domain/spend/spend.ts";
import {
  parseSpendQuery,
  parseUnpricedQuery,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { rowsOf, unpricedModels } from "../../api/spend/spend.ts";
import { showPage } from "../layout/reply.tsx";
import { Copyable, Empty, Money } from "../components/elements.tsx";
import { compactText, countedText, formatCount, percentText } from "../components/format.ts";
import { Tile } from "../components/tile.tsx";
import { SpendChart } from "./chart.tsx";
import { Filters, Groupings, Periods } from "./controls.tsx";
import { sendSpendCsv } from "./csv.ts";
import { queryWith, runsOfGroupPath, type SpendPageQuery, spendQueryText } from "./paths.ts";
import { DayTable, GroupTable } from "./tables.tsx";
import { daySpan } from "./labels.ts";
import { UnpricedBanner } from "./unpriced_banner.tsx";

/** The spend page and its export. */
export const spendPage: DashboardPage = {
  path: SPEND_PATH,
  menu: "Spend",
  access: teamKey("read"),
  handler: showSpend,
  routes: [get(`${SPEND_PATH}.csv`, sendSpendCsv)],
};

function showSpend(deps: AppDeps): Handle {
  return async (c) => {
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
    const banner = spend.value.totals.unpricedCalls > 0 ? await bannerOf(deps, c, nowMs) : null;
    return showPage(c, {
      title: "Spend",
      aside: <a href={`${SPEND_PATH}.csv${queryWith(parameters)}`} download>Download as CSV</a>,
      body: (
        <>
          <Periods parameters={parameters} query={query.value} nowMs={nowMs} />
          <Groupings parameters={parameters} query={query.value} />
          <Filters parameters={parameters} query={query.value} problem={null} />
          {spend.value.totals.runs === 0 ? <NoRuns c={c} query={query.value} /> : (
            <Answer
              parameters={parameters}
              query={query.value}
              spend={spend.value}
              banner={banner}
            />
          )}
        </>
      ),
    });
  };
}

/** Returns the banner of models without a price in the same days. */
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
  parameters: SpendPageQuery,
  nowMs: number,
  problem: Problem,
): Response {
  c.set("problem", problem);
  return showPage(c, {
    title: "Spend",
    problem,
    body: (
      <>
        <Periods parameters={parameters} query={null} nowMs={nowMs} />
        <Filters parameters={parameters} query={null} problem={problem} />
      </>
    ),
  });
}

interface AnswerProps {
  readonly parameters: SpendPageQuery;
  readonly query: SpendQuery;
  readonly spend: DailySpend;
}

function Answer({ parameters, query, spend, banner }: AnswerProps & { readonly banner: Child }) {
  return (
    <>
      <Headline query={query} spend={spend} />
      {banner}
      <Tiles parameters={parameters} query={query} spend={spend} />
      <SpendChart query={query} spend={spend} />
      <GroupTable parameters={parameters} query={query} spend={spend} />
      <DayTable spend={spend} />
    </>
  );
}

/** Shows the total in one sentence. */
function Headline({ query, spend: { totals, daily } }: Pick<AnswerProps, "query" | "spend">) {
  const named = daily.filter(({ group }) => group !== null).slice(0, 3);
  return (
    <p class="headline">
      <strong>
        <Money of={totals.cost} />
      </strong>{" "}
      {daySpan(query.from, query.to)}
      {named.length === 0 ? null : (
        <>
          {": "}
          {named.map(({ group }, at) => (
            <>
              {at === 0 ? "" : ", "}
              {group?.key} {percentText(group?.measures.cost ?? 0n, totals.cost)}
            </>
          ))}
        </>
      )}.
    </p>
  );
}

function Tiles({ parameters, query, spend: { totals } }: AnswerProps) {
  const perSuccess = costPerSuccess(totals);
  const runs = runsOfGroupPath(parameters, query, null);
  return (
    <div class="tiles">
      <Tile name="Cost " value={<Money of={totals.cost} />}>
        <span class="soft">{countedText(totals.calls, "model call")}</span>
      </Tile>
      <Tile name="Runs " value={formatCount(totals.runs)}>
        {runs === null ? null : <a href={runs}>See the runs</a>}
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

/** Shows how to send a run, or how to find runs. */
function NoRuns({ c, query }: { readonly c: RequestContext; readonly query: SpendQuery }) {
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
  const { origin } = new URL(c.req.url);
  const body = '{"agent":"my-agent","status":"ok","model":"gpt-4o","input_tokens":1200,' +
    '"output_tokens":300}';
  const line = `curl "${origin}/v1/heartbeats" -u "$RUNLEDGER_KEY:" ` +
    `-H "Content-Type: application/json" -d '${body}'`;
  return (
    <Empty title={`Nothing ran ${daySpan(query.from, query.to)}`}>
      <p>Send a run with its tokens, and its cost is shown here a moment later:</p>
      <Copyable id="first-cost" text={line} />
    </Empty>
  );
}
