/** Tables of spend: by group, and by day. */
import type { Measures } from "../../../domain/runs/contribution.ts";
import { costPerSuccess, type SpendGroup } from "../../../domain/spend/spend.ts";
import { ShareBar, Swatch } from "../components/column_chart.tsx";
import { Money, Section } from "../components/elements.tsx";
import { compactText, formatCount, percentText, pluralOf } from "../components/format.ts";
import { type Column, numberColumn, Table, TableRow } from "../components/table.tsx";
import { colourOf, DAY_BARS_MAX, seriesName, type SpendBar, spendBarsOf } from "./chart.tsx";
import { insidePath, runsOfGroupPath, type SpendAnswer, spendPath } from "./paths.ts";
import { capitalized, dayText, shortName } from "./labels.ts";

/** Groups shown until the complete list is requested. */
const GROUPS_SHOWN = 50;

/** Maximum characters of a group's name in the table; hovering shows the complete name. */
const NAME_CHARS_MAX = 80;

/** Shows the groups by descending cost. */
export function GroupTable({ answer }: { readonly answer: SpendAnswer }) {
  const { parameters, query: { groupBy }, spend: { groups, totals } } = answer;
  const visible = parameters.get("groups") === "all" ? groups : groups.slice(0, GROUPS_SHOWN);
  const columns = columnsFor(answer);
  const all = { key: "All", model: null, folded: null, measures: totals, runsKnown: true };
  return (
    <Section title={`By ${groupBy}`}>
      <Table
        label={`Spend by ${groupBy}`}
        class="fold named"
        caption={<caption class="sr">Spend by {groupBy}, each group with its share</caption>}
        columns={columns}
        rows={visible}
      >
        <tfoot>
          <Unshown groups={groups.slice(visible.length)} totals={totals} parameters={parameters} />
          <TableRow columns={columns} row={all} />
        </tfoot>
      </Table>
      <Remarks groupBy={groupBy} groups={groups} />
    </Section>
  );
}

/** Returns the columns of the groups, and of the total as a group. */
function columnsFor(answer: SpendAnswer): readonly Column<SpendGroup>[] {
  const { query, spend: { totals, daily } } = answer;
  const { groupBy } = query;
  const colours = new Map(daily.map(({ group }, at) => [group, colourOf(query, group, at)]));
  const isAll = ({ measures }: SpendGroup) => measures === totals;
  const nameOf = ({ key, folded, measures }: SpendGroup) => {
    if (folded !== null) return `${formatCount(folded)} cheaper ${plural(groupBy)}, together`;
    return groupBy === "day" && measures !== totals ? dayText(key) : key;
  };
  const countOfRuns = (name: "runs" | "succeeded") => ({ measures, runsKnown }: SpendGroup) =>
    runsKnown ? formatCount(measures[name]) : "–";
  return [
    {
      head: capitalized(groupBy),
      isName: true,
      attributes: (group): Record<string, string> => {
        const title = nameOf(group);
        return title.length > NAME_CHARS_MAX ? { title } : {};
      },
      cell: (group) => {
        const name = shortName(nameOf(group), NAME_CHARS_MAX);
        if (isAll(group)) return name;
        const colour = colours.get(group);
        const inside = insidePath(answer, group);
        return (
          <>
            {colour === undefined ? null : <Swatch of={colour} />}{" "}
            {inside === null ? name : <a href={inside}>{name}</a>}
          </>
        );
      },
    },
    numberColumn("Cost", ({ measures }) => <Cost of={measures} />),
    {
      head: "Share",
      class: "shares",
      cell: ({ measures }) => <ShareBar part={measures.cost} all={totals.cost} />,
    },
    numberColumn("Runs", countOfRuns("runs"), ({ measures }) => pluralOf(measures.runs, "run")),
    numberColumn("Successful", countOfRuns("succeeded"), "successful"),
    numberColumn("Per successful run", ({ measures, runsKnown }) => {
      const perSuccess = runsKnown ? costPerSuccess(measures) : null;
      return perSuccess === null ? "–" : <Money of={perSuccess} />;
    }, "a success"),
    tokenColumn("Tokens in", "tokens in", ({ measures }) => measures.inputTokens),
    tokenColumn("Cached", "cached", ({ measures }) => measures.cachedInputTokens),
    tokenColumn("Out", "out", ({ measures }) => measures.outputTokens),
    {
      head: "Run list",
      cell: (group) => {
        if (isAll(group) || group.measures.runs === 0) return null;
        const runs = runsOfGroupPath(answer, group);
        const name = shortName(nameOf(group), NAME_CHARS_MAX);
        return runs && <a href={runs} aria-label={`Runs of ${name}`}>Runs</a>;
      },
    },
  ];
}

/** A column of tokens, rounded; hovering shows the exact count. */
export function tokenColumn<Row>(
  head: string,
  unit: string,
  tokensOf: (row: Row) => bigint,
): Column<Row> {
  return {
    ...numberColumn(head, (row: Row) => compactText(tokensOf(row)), unit),
    attributes: (row) => ({ title: formatCount(tokensOf(row)) }),
  };
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

function plural(groupBy: string): string {
  return groupBy === "status" ? "statuses" : `${groupBy}s`;
}

/** Aggregates the groups that are not shown, with a link to all of them. */
function Unshown(
  { groups, totals, parameters }: {
    readonly groups: readonly SpendGroup[];
    readonly totals: Measures;
    readonly parameters: SpendAnswer["parameters"];
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
      <td class="num">
        <Money of={cost} />
      </td>
      <td class="shares">{percentText(cost, totals.cost)}</td>
      <td colspan={7} />
    </tr>
  );
}

function Remarks(
  { groupBy, groups }: { readonly groupBy: string; readonly groups: readonly SpendGroup[] },
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
      {groupBy === "model" && (
        <p class="soft">
          A run that used two models is a run of each, so runs do not add up here. What belongs to
          no model, such as a cost that was reported without one, is (unattributed).
        </p>
      )}
    </>
  );
}

/** Shows the data of the chart as a table. */
export function DayTable({ spend }: Pick<SpendAnswer, "spend">) {
  const unit = spend.days.length > DAY_BARS_MAX ? "month" : "day";
  if (spend.totals.cost === 0n) return null;
  const columns: readonly Column<SpendBar>[] = [
    { head: unit === "day" ? "Day (UTC)" : "Month (UTC)", isName: true, cell: ({ name }) => name },
    numberColumn("All", ({ total }) => <Money of={total} />),
    ...spend.daily.map((series, at) => ({
      head: seriesName(series),
      class: "num",
      cell: ({ parts }: SpendBar) => <Money of={parts[at] ?? 0n} />,
    })),
  ];
  return (
    <details class="more">
      <summary>The chart as a table</summary>
      <Table
        label={`Cost by ${unit}`}
        class="named"
        caption={<caption class="sr">Cost by {unit}</caption>}
        columns={columns}
        rows={spendBarsOf(spend)}
      />
    </details>
  );
}
