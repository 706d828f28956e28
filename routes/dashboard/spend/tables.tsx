/** Tables of spend: by group, and by day. */
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { DailySpend } from "../../../domain/spend/daily.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { costPerSuccess, type SpendGroup } from "../../../domain/spend/spend.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import { Money, Wide } from "../components/elements.tsx";
import { compactText, formatCount, percentText, pluralOf } from "../components/format.ts";
import { type Column, numberColumn, Table, TableHead, TableRow } from "../components/table.tsx";
import { DAY_BARS_MAX, seriesName, type SpendBar, spendBarsOf } from "./bars.ts";
import { SpendSwatch } from "./chart.tsx";
import { insidePath, runsOfGroupPath, type SpendPageQuery, spendPath } from "./paths.ts";
import { dayText, percentOf } from "./labels.ts";

/** Groups shown until the complete list is requested. */
const GROUPS_SHOWN = 50;

/** Maximum characters of a group's name in the table; hovering shows the complete name. */
const NAME_CHARS_MAX = 80;

interface GroupTableProps {
  readonly parameters: SpendPageQuery;
  readonly query: SpendQuery;
  readonly spend: DailySpend;
}

/** Shows the groups by descending cost. */
export function GroupTable({ parameters, query, spend }: GroupTableProps) {
  const { groups, totals } = spend;
  const { groupBy } = query;
  const visible = parameters.get("groups") === "all" ? groups : groups.slice(0, GROUPS_SHOWN);
  const swatches = new Map(spend.daily.map(({ group }, at) => [group, at]));
  const columns = columnsFor(groupBy, totals);
  const rows = visible.map((group): SumsRow => ({
    ...namesOf(parameters, query, group),
    swatch: swatches.get(group),
    measures: group.measures,
    runsKnown: group.runsKnown,
    runsPath: group.measures.runs > 0 ? runsOfGroupPath(parameters, query, group) : null,
  }));
  const all = { name: "All", inside: null, measures: totals, runsKnown: true, runsPath: null };
  return (
    <section>
      <h2>By {groupBy}</h2>
      <Wide label={`Spend by ${groupBy}`}>
        <table class="named folding">
          <caption class="hidden">Spend by {groupBy}, each group with its share</caption>
          <TableHead columns={columns} />
          <tbody>
            {rows.map((row) => <TableRow columns={columns} row={row} />)}
            <Unshown {...{ groups: groups.slice(visible.length), totals, parameters }} />
          </tbody>
          <tfoot>
            <TableRow columns={columns} row={all} />
          </tfoot>
        </table>
      </Wide>
      <Remarks query={query} groups={groups} />
    </section>
  );
}

/** A row of metrics. */
interface SumsRow {
  /** The name cut to its limit, and the complete name if it was cut. */
  readonly name: string;
  readonly title?: string;
  /** Path of the page about the group; null if there is none. */
  readonly inside: string | null;
  /** Position in the chart, if the group is in it. */
  readonly swatch?: number | undefined;
  readonly measures: Measures;
  readonly runsKnown: boolean;
  readonly runsPath: string | null;
}

function namesOf(
  parameters: SpendPageQuery,
  query: SpendQuery,
  group: SpendGroup,
): Pick<SumsRow, "name" | "title" | "inside"> {
  const full = group.folded === null
    ? nameOf(query, group)
    : `${formatCount(group.folded)} cheaper ${plural(query.groupBy)}, together`;
  const inside = insidePath(parameters, query.groupBy, group);
  return full.length > NAME_CHARS_MAX
    ? { name: `${full.slice(0, NAME_CHARS_MAX - 1)}…`, title: full, inside }
    : { name: full, inside };
}

function columnsFor(first: string, totals: Measures): readonly Column<SumsRow>[] {
  return [
    {
      head: first.charAt(0).toUpperCase() + first.slice(1),
      isName: true,
      attributes: ({ title }) => title === undefined ? {} : { title },
      cell: (row) => row.measures === totals ? row.name : <GroupName row={row} />,
    },
    numberColumn("Cost", ({ measures }) => <Cost of={measures} />),
    {
      head: "Share",
      class: "share",
      cell: ({ measures }) => <Share cost={measures.cost} of={totals.cost} />,
    },
    numberColumn(
      "Runs",
      ({ measures, runsKnown }) => runsKnown ? formatCount(measures.runs) : "–",
      ({ measures }) => pluralOf(measures.runs, "run"),
    ),
    numberColumn(
      "Successful",
      ({ measures, runsKnown }) => runsKnown ? formatCount(measures.succeeded) : "–",
      "successful",
    ),
    {
      head: "Per successful run",
      class: "number",
      unit: "a success",
      cell: ({ measures, runsKnown }) => {
        const perSuccess = runsKnown ? costPerSuccess(measures) : null;
        return perSuccess === null ? "–" : <Money of={perSuccess} />;
      },
    },
    tokenColumn("Tokens in", "tokens in", "inputTokens"),
    tokenColumn("Cached", "cached", "cachedInputTokens"),
    tokenColumn("Out", "out", "outputTokens"),
    {
      head: "Run list",
      cell: ({ name, runsPath }) =>
        runsPath === null ? null : <a href={runsPath} aria-label={`Runs of ${name}`}>Runs</a>,
    },
  ];
}

function tokenColumn(
  head: string,
  unit: string,
  name: "inputTokens" | "cachedInputTokens" | "outputTokens",
): Column<SumsRow> {
  return {
    head,
    class: "number",
    attributes: ({ measures }) => ({ title: formatCount(measures[name]), "data-unit": unit }),
    cell: ({ measures }) => compactText(measures[name]),
  };
}

function GroupName({ row: { name, inside, swatch } }: { readonly row: SumsRow }) {
  return (
    <>
      {swatch === undefined ? null : <SpendSwatch at={swatch} />}{" "}
      {inside === null ? name : <a href={inside}>{name}</a>}
    </>
  );
}

function Cost({ of }: { readonly of: Measures }) {
  return (
    <>
      <Money of={of.cost} />
      {of.unpricedCalls === 0 ? null : (
        <>
          <br />
          <a href="#unpriced" class="soft">{formatCount(of.unpricedCalls)} unpriced</a>
        </>
      )}
    </>
  );
}

function Share({ cost, of }: { readonly cost: Picodollars; readonly of: Picodollars }) {
  return (
    <>
      <svg width="60" height="10" aria-hidden="true">
        <rect class="track" width="60" height="10" />
        <rect class="c1" width={60 * percentOf(cost, of)} height="10" />
      </svg>{" "}
      {percentText(cost, of)}
    </>
  );
}

function nameOf({ groupBy }: SpendQuery, { key }: SpendGroup): string {
  return groupBy === "day" ? dayText(key) : key;
}

function plural(groupBy: SpendQuery["groupBy"]): string {
  return groupBy === "status" ? "statuses" : `${groupBy}s`;
}

/** Aggregates the groups that are not shown, with a link to all of them. */
function Unshown(
  { groups, totals, parameters }: {
    readonly groups: readonly SpendGroup[];
    readonly totals: Measures;
    readonly parameters: SpendPageQuery;
  },
) {
  if (groups.length === 0) return null;
  const cost = groups.reduce((sum, { measures }) => sum + measures.cost, 0n);
  return (
    <tr>
      <th scope="row">
        <a href={spendPath(parameters, { groups: "all" })}>
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
          are listed. Filter, or choose fewer days, to see the others.
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

/** Shows the data of the chart as a table. */
export function DayTable({ spend }: { readonly spend: DailySpend }) {
  const unit = spend.days.length > DAY_BARS_MAX ? "month" : "day";
  if (spend.totals.cost === 0n) return null;
  const columns: readonly Column<SpendBar>[] = [
    { head: unit === "day" ? "Day (UTC)" : "Month (UTC)", isName: true, cell: ({ name }) => name },
    numberColumn("All", ({ total }) => <Money of={total} />),
    ...spend.daily.map((series, at) => ({
      head: seriesName(series),
      class: "number",
      cell: ({ parts }: SpendBar) => <Money of={parts[at] ?? 0n} />,
    })),
  ];
  return (
    <details class="more">
      <summary>The chart as a table</summary>
      <Table
        label={`Cost by ${unit}`}
        class="named"
        caption={<caption class="hidden">Cost by {unit}</caption>}
        columns={columns}
        rows={spendBarsOf(spend)}
      />
    </details>
  );
}
