/** `/dashboard/spend`: what runs cost, and why. */
import { SPEND_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
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
import { mayAdmin } from "../../http/access.ts";
import { rowsOf, unpricedModels } from "../../api/spend/spend.ts";
import { showPage } from "../layout/reply.tsx";
import { Copyable, Empty, Money } from "../components/elements.tsx";
import { compactText, countedText, formatCount, percentText } from "../components/format.ts";
import { SpendChart } from "./chart.tsx";
import { Filters, Groupings, Periods } from "./controls.tsx";
import { askedText, runsOfGroupPath, type SpendPageQuery } from "./paths.ts";
import { DayTable, GroupTable } from "./tables.tsx";
import { daySpan } from "./labels.ts";
import { UnpricedBanner } from "./unpriced_banner.tsx";

/** What a page without `group_by` is grouped by. */
export const GROUP_BY_DEFAULT = "agent";

/** The query of a request with what the page takes for absent parameters. */
export function spendQueryText(c: RequestContext): string {
  // Of repeated parameters the first counts.
  return `${queryOf(c)}&group_by=${GROUP_BY_DEFAULT}`;
}

/** Shows what runs cost. */
export function showSpend(deps: AppDeps): Handle {
  return async (c) => {
    const parameters = parseQuery(queryOf(c));
    if (!parameters.ok) return fail(c, parameters.problem);
    const asked = parameters.value;
    const nowMs = deps.environment.now();
    const query = parseSpendQuery(spendQueryText(c), nowMs);
    if (!query.ok) return showRefused(c, asked, nowMs, query.problem);
    const { team } = c.get("principal");
    const read = rowsOf(deps.spend, team, query.value);
    const spend = await deps.spend.ask(team, () => dailySpendOf(query.value, read));
    if (!spend.ok) return showRefused(c, asked, nowMs, spend.problem);
    const banner = spend.value.totals.unpricedCalls > 0 ? await bannerOf(deps, c, nowMs) : null;
    return showPage(c, {
      title: "Spend",
      aside: <a href={`${SPEND_PATH}.csv${askedText(asked)}`} download>Download as CSV</a>,
      body: (
        <>
          <Periods asked={asked} query={query.value} nowMs={nowMs} />
          <Groupings asked={asked} query={query.value} />
          <Filters asked={asked} query={query.value} problem={null} />
          {spend.value.totals.runs === 0
            ? <Nothing c={c} query={query.value} />
            : <Answer asked={asked} query={query.value} spend={spend.value} banner={banner} />}
        </>
      ),
    });
  };
}

/** The models without a price in the same days. */
async function bannerOf(deps: AppDeps, c: RequestContext, nowMs: number): Promise<Child> {
  const query = parseUnpricedQuery(queryOf(c), nowMs);
  if (!query.ok) return null;
  const principal = c.get("principal");
  const unpriced = await unpricedModels(deps, principal.team, query.value);
  if (!unpriced.ok) return null;
  const mayPrice = mayAdmin(principal);
  return <UnpricedBanner unpriced={unpriced.value} query={query.value} mayPrice={mayPrice} />;
}

/** The form again with what was sent, and what is wrong with it. */
function showRefused(
  c: RequestContext,
  asked: SpendPageQuery,
  nowMs: number,
  problem: Problem,
): Response {
  c.set("problem", problem);
  return showPage(c, {
    title: "Spend",
    status: ERRORS[problem.code].status,
    body: (
      <>
        <Periods asked={asked} query={null} nowMs={nowMs} />
        <Filters asked={asked} query={null} problem={problem} />
      </>
    ),
  });
}

/** What an answer is shown by. */
interface Answered {
  readonly asked: SpendPageQuery;
  readonly query: SpendQuery;
  readonly spend: DailySpend;
}

function Answer({ asked, query, spend, banner }: Answered & { readonly banner: Child }) {
  return (
    <>
      <Headline query={query} spend={spend} />
      {banner}
      <Tiles asked={asked} query={query} spend={spend} />
      <SpendChart query={query} spend={spend} />
      <GroupTable asked={asked} query={query} spend={spend} />
      <DayTable spend={spend} />
    </>
  );
}

/** The whole bill in a sentence. */
function Headline({ query, spend: { totals, daily } }: Pick<Answered, "query" | "spend">) {
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

function Tiles({ asked, query, spend: { totals } }: Answered) {
  const perSuccess = costPerSuccess(totals);
  const runs = runsOfGroupPath(asked, query, null);
  return (
    <div class="tiles">
      <div class="tile">
        Cost <b>{<Money of={totals.cost} />}</b>
        <span class="soft">{countedText(totals.calls, "model call")}</span>
      </div>
      <div class="tile">
        Runs <b>{formatCount(totals.runs)}</b>
        {runs === null ? null : <a href={runs}>See the runs</a>}
      </div>
      <div class="tile">
        Successful runs <b>{formatCount(totals.succeeded)}</b>
        <span class="soft">{percentText(totals.succeeded, totals.runs)} of all</span>
      </div>
      <div class="tile">
        Cost per successful run <b>{perSuccess === null ? "–" : <Money of={perSuccess} />}</b>
        <span class="soft">all cost, failed runs too</span>
      </div>
      <div class="tile">
        Tokens in <b title={formatCount(totals.inputTokens)}>{compactText(totals.inputTokens)}</b>
        <span class="soft">{compactText(totals.cachedInputTokens)} of them cached</span>
      </div>
      <div class="tile">
        Tokens out{" "}
        <b title={formatCount(totals.outputTokens)}>{compactText(totals.outputTokens)}</b>
      </div>
    </div>
  );
}

/** Nothing ran: what would. */
function Nothing({ c, query }: { readonly c: RequestContext; readonly query: SpendQuery }) {
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
      <p>Send a run with its tokens, and its cost stands here a moment later:</p>
      <Copyable id="first-cost" text={line} />
    </Empty>
  );
}
