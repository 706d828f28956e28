/** The figures of spend: by group, and by day. */
import type { DailySpend } from "../../../domain/spend/daily.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { costPerSuccess, type SpendGroup } from "../../../domain/spend/spend.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import { Money, Wide } from "../components/elements.tsx";
import { compactText, formatCount, percentText, pluralOf } from "../components/format.ts";
import { DAY_BARS_MAX, seriesName, spendBarsOf } from "./bars.ts";
import { SpendSwatch } from "./chart.tsx";
import { insidePath, runsOfGroupPath, type SpendPageQuery, spendPath } from "./paths.ts";
import { dayText, percentOf } from "./labels.ts";

/** Groups that are shown before one asks for all of them. */
const GROUPS_SHOWN = 50;

/** Characters of a group's name in the table; hovering tells all of it. */
const NAME_CHARS_MAX = 80;

interface TableOf {
  readonly asked: SpendPageQuery;
  readonly query: SpendQuery;
  readonly spend: DailySpend;
}

/** The groups, the costliest first. */
export function GroupTable({ asked, query, spend }: TableOf) {
  const { groups, totals } = spend;
  const shown = asked.get("groups") === "all" ? groups : groups.slice(0, GROUPS_SHOWN);
  const swatches = new Map(spend.daily.map(({ group }, at) => [group, at]));
  return (
    <section>
      <h2>By {query.groupBy}</h2>
      <Wide label={`Spend by ${query.groupBy}`}>
        <table class="named folding">
          <caption class="hidden">Spend by {query.groupBy}, each group with its share</caption>
          <HeadRow first={query.groupBy} />
          <tbody>
            {shown.map((group) => (
              <GroupRow {...{ asked, query, group, totals }} swatch={swatches.get(group)} />
            ))}
            <Unshown groups={groups.slice(shown.length)} totals={totals} asked={asked} />
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">All</th>
              <Figures of={totals} runsKnown totals={totals} />
              <td />
            </tr>
          </tfoot>
        </table>
      </Wide>
      <Remarks query={query} groups={groups} />
    </section>
  );
}

function HeadRow({ first }: { readonly first: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{first.charAt(0).toUpperCase() + first.slice(1)}</th>
        <th scope="col" class="number">Cost</th>
        <th scope="col">Share</th>
        <th scope="col" class="number">Runs</th>
        <th scope="col" class="number">Successful</th>
        <th scope="col" class="number">Per successful run</th>
        <th scope="col" class="number">Tokens in</th>
        <th scope="col" class="number">Cached</th>
        <th scope="col" class="number">Out</th>
        <th scope="col">Runs behind it</th>
      </tr>
    </thead>
  );
}

interface RowOf extends Omit<TableOf, "spend"> {
  readonly group: SpendGroup;
  readonly totals: Measures;
  /** Its place in the chart, if it has one. */
  readonly swatch: number | undefined;
}

function GroupRow({ asked, query, group, totals, swatch }: RowOf) {
  const { folded, measures, runsKnown } = group;
  const inside = insidePath(asked, query.groupBy, group);
  const name = folded === null
    ? nameOf(query, group)
    : `${formatCount(folded)} cheaper ${plural(query.groupBy)}, together`;
  const short = name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX - 1)}…` : name;
  const runs = measures.runs > 0 ? runsOfGroupPath(asked, query, group) : null;
  return (
    <tr>
      <th scope="row" {...(short === name ? {} : { title: name })}>
        {swatch === undefined ? null : <SpendSwatch at={swatch} />}{" "}
        {inside === null ? short : <a href={inside}>{short}</a>}
      </th>
      <Figures of={measures} runsKnown={runsKnown} totals={totals} />
      <td>{runs === null ? null : <a href={runs} aria-label={`Runs of ${short}`}>Runs</a>}</td>
    </tr>
  );
}

function nameOf({ groupBy }: SpendQuery, { key }: SpendGroup): string {
  return groupBy === "day" ? dayText(key) : key;
}

function plural(groupBy: SpendQuery["groupBy"]): string {
  return groupBy === "status" ? "statuses" : `${groupBy}s`;
}

/** Cells of sums; of runs nothing is said where nothing is known. */
function Figures(
  { of, runsKnown, totals }: {
    readonly of: Measures;
    readonly runsKnown: boolean;
    readonly totals: Measures;
  },
) {
  const perSuccess = runsKnown ? costPerSuccess(of) : null;
  return (
    <>
      <td class="number">
        <Money of={of.cost} />
        {of.unpricedCalls === 0 ? null : (
          <>
            <br />
            <a href="#unpriced" class="soft">{formatCount(of.unpricedCalls)} unpriced</a>
          </>
        )}
      </td>
      <td class="share">
        <svg width="60" height="10" aria-hidden="true">
          <rect class="track" width="60" height="10" />
          <rect class="c1" width={60 * percentOf(of.cost, totals.cost)} height="10" />
        </svg>{" "}
        {percentText(of.cost, totals.cost)}
      </td>
      <td class="number" data-unit={pluralOf(of.runs, "run")}>
        {runsKnown ? formatCount(of.runs) : "–"}
      </td>
      <td class="number" data-unit="successful">{runsKnown ? formatCount(of.succeeded) : "–"}</td>
      <td class="number" data-unit="a success">
        {perSuccess === null ? "–" : <Money of={perSuccess} />}
      </td>
      <Tokens of={of.inputTokens} unit="tokens in" />
      <Tokens of={of.cachedInputTokens} unit="cached" />
      <Tokens of={of.outputTokens} unit="out" />
    </>
  );
}

function Tokens({ of, unit }: { readonly of: bigint; readonly unit: string }) {
  return <td class="number" title={formatCount(of)} data-unit={unit}>{compactText(of)}</td>;
}

/** What is not in the table yet, as one row that says where it is. */
function Unshown(
  { groups, totals, asked }: {
    readonly groups: readonly SpendGroup[];
    readonly totals: Measures;
    readonly asked: SpendPageQuery;
  },
) {
  if (groups.length === 0) return null;
  const cost = groups.reduce((sum, { measures }) => sum + measures.cost, 0n);
  return (
    <tr>
      <th scope="row">
        <a href={spendPath(asked, { groups: "all" })}>
          {formatCount(groups.length)} more: show all
        </a>
      </th>
      <td class="number">
        <Money of={cost} />
      </td>
      <td class="share">{percentText(cost, totals.cost)}</td>
      <td colspan={7} />
    </tr>
  );
}

/** What the figures do not say by themselves. */
function Remarks(
  { query, groups }: {
    readonly query: SpendQuery;
    readonly groups: readonly SpendGroup[];
  },
) {
  const folded = groups.find(({ folded }) => folded !== null);
  return (
    <>
      {folded === undefined ? null : (
        <p class="soft">
          Only the costliest {formatCount(groups.length - 1)}{" "}
          are told apart. Filter, or choose fewer days, to see the others.
        </p>
      )}
      {query.groupBy === "model"
        ? (
          <p class="soft">
            A run that used two models is a run of each, so runs do not add up here. What belongs to
            no model, such as a cost that was reported without one, is (unattributed).
          </p>
        )
        : null}
    </>
  );
}

/** The figures of the chart. */
export function DayTable({ spend }: { readonly spend: DailySpend }) {
  const bars = spendBarsOf(spend);
  const unit = spend.days.length > DAY_BARS_MAX ? "month" : "day";
  if (spend.totals.cost === 0n) return null;
  return (
    <details class="more">
      <summary>The chart as a table</summary>
      <Wide label={`Cost by ${unit}`}>
        <table class="named">
          <caption class="hidden">Cost by {unit}</caption>
          <thead>
            <tr>
              <th scope="col">{unit === "day" ? "Day (UTC)" : "Month (UTC)"}</th>
              <th scope="col" class="number">All</th>
              {spend.daily.map((series) => <th scope="col" class="number">{seriesName(series)}
              </th>)}
            </tr>
          </thead>
          <tbody>
            {bars.map(({ name, total, parts }) => (
              <tr>
                <th scope="row">{name}</th>
                {[total, ...parts].map((cost) => (
                  <td class="number">
                    <Money of={cost} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
