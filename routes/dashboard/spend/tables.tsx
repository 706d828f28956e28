/** The chart of spend by day, the table of its groups, and the models without a price. */
import { OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { costPerSuccess, modelKey } from "../../../domain/spend/spend.ts";
import type { EstimatedModel, Unpriced } from "../../../domain/spend/unpriced.ts";
import { ColumnChart, ShareBar, Swatch, UsualSwatch } from "../components/column_chart.tsx";
import { Money, Section } from "../components/elements.tsx";
import {
  capitalized,
  compactText,
  daysText,
  exactMoneyText,
  formatCount,
  percentText,
  pluralOf,
} from "../components/format.ts";
import {
  type Column,
  column,
  countColumn,
  numberColumn,
  Table,
  TableRow,
} from "../components/table.tsx";
import { addPath } from "../rate_card/paths.ts";
import { type GroupRow, shortName, type SpendView } from "./spend_view.ts";

/** Height of the columns in pixels. */
const HEIGHT = 200;

/** Number of patterns: one for each colour but the first. */
const PATTERNS = 7;

/** Maximum characters of a group's name in the legend and in the table. */
const LEGEND_CHARS = 40, TABLE_CHARS = 80;

type Bar = SpendView["bars"][number];

interface ViewProps {
  readonly view: SpendView;
}

/** The chart with its legend. */
export function SpendChart({ view }: ViewProps) {
  const { totals, series, bars, usual } = view;
  return (
    <section class="panel spend">
      <header>
        <h2>Cost a {view.unit}</h2>
      </header>
      <ColumnChart
        title={view.chartTitle}
        columns={bars.map(({ parts, ...bar }) => ({
          ...bar,
          parts: series.map(({ colour }, at) => [colour, Math.max(0, Number(parts[at]))]),
        }))}
        format={(tick) => exactMoneyText(BigInt(tick))}
        usual={usual}
        height={HEIGHT}
      />
      <ul class="legend" aria-label="Groups in the chart">
        {series.map(({ colour, name, total }) => (
          <li>
            <Swatch of={colour} /> {shortName(name, LEGEND_CHARS)} <Money of={total} />{" "}
            <span class="soft">{percentText(total, totals.cost)}</span>
          </li>
        ))}
        {usual !== null && (
          <li class="soft">
            <UsualSwatch /> average of the {view.days} days before
          </li>
        )}
      </ul>
      {/* Only print and forced colours use the patterns. */}
      <div class="sr">
        <svg aria-hidden="true">
          {Array.from({ length: PATTERNS }, (_, at) => (
            <pattern
              id={`pattern-${at + 2}`}
              width={at < 4 ? 8 : 4}
              height="8"
              patternUnits="userSpaceOnUse"
              patternTransform={`rotate(${45 * (at + 1)})`}
            >
              <path d="M0 0V8" />
            </pattern>
          ))}
        </svg>
      </div>
    </section>
  );
}

/** Shows the data of the chart as a table. */
export function DayTable({ view: { series, bars, unit } }: ViewProps) {
  const columns = [
    { head: `${capitalized(unit)} (UTC)`, isName: true, cell: ({ name }: Bar) => name },
    numberColumn("All", ({ total }: Bar) => <Money of={total} />),
    ...series.map(({ name }, at) =>
      numberColumn(name, ({ parts }: Bar) => <Money of={parts[at] ?? 0n} />)
    ),
  ];
  return (
    <details class="more">
      <summary>The chart as a table</summary>
      <Table label={`Cost by ${unit}`} class="named" columns={columns} rows={bars} />
    </details>
  );
}

/** Shows the groups by descending cost. */
export function GroupTable({ view: { query: { groupBy }, rows, sums } }: ViewProps) {
  const columns = [{ ...NAME, head: capitalized(groupBy) }, ...GROUP_COLUMNS];
  return (
    <Section title={`By ${groupBy}`}>
      <Table label={`Spend by ${groupBy}`} class="fold named" columns={columns} rows={rows}>
        <tfoot>{sums.map((row) => <TableRow columns={columns} row={row} />)}</tfoot>
      </Table>
      {groupBy === "model" && (
        <p class="soft">
          A run that used two models is a run of each, so runs do not add up here. What belongs to
          no model, such as a cost that was reported without one, is (unattributed).
        </p>
      )}
    </Section>
  );
}

const NAME: Column<GroupRow> = {
  head: "",
  isName: true,
  cell: ({ name, colour, inside }) => {
    const text = shortName(name, TABLE_CHARS);
    const title = text === name ? undefined : name;
    return (
      <>
        {colour && <Swatch of={colour} />}{" "}
        {inside ? <a href={inside} title={title}>{text}</a> : <span title={title}>{text}</span>}
      </>
    );
  },
};

const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  numberColumn("Cost", ({ measures: { cost, unpricedCalls } }) => [
    <Money of={cost} />,
    unpricedCalls > 0 && (
      <div>
        <a href="#unpriced" class="soft">{formatCount(unpricedCalls)} unpriced</a>
      </div>
    ),
  ]),
  column(
    "Share",
    { class: "shares" },
    ({ measures, all }) => <ShareBar part={measures.cost} all={all} />,
  ),
  numberColumn("Runs", countOf("runs"), ({ measures }) => pluralOf(measures.runs, "run")),
  numberColumn("Successful", countOf("succeeded"), "successful"),
  numberColumn("Per successful run", ({ measures, runsKnown }) => {
    const perSuccess = runsKnown ? costPerSuccess(measures) : null;
    return perSuccess === null ? "–" : <Money of={perSuccess} />;
  }, "a success"),
  tokenColumn("Tokens in", "tokens in", ({ measures }) => measures.inputTokens),
  tokenColumn("Cached", "cached", ({ measures }) => measures.cachedInputTokens),
  tokenColumn("Out", "out", ({ measures }) => measures.outputTokens),
  {
    head: "Run list",
    cell: ({ runs, name }) => runs && <a href={runs} aria-label={`Runs of ${name}`}>Runs</a>,
  },
];

function countOf(name: "runs" | "succeeded") {
  return ({ measures, runsKnown }: GroupRow) => runsKnown ? formatCount(measures[name]) : "–";
}

function tokenColumn<Row>(head: string, unit: string, tokensOf: (row: Row) => bigint) {
  return numberColumn(head, (row: Row) => <Tokens of={tokensOf(row)} />, unit);
}

/** A number of tokens, rounded; hovering shows the exact one. */
export function Tokens({ of }: { readonly of: bigint }) {
  return <span title={formatCount(of)}>{compactText(of)}</span>;
}

/** Maximum models without a price that are listed, by descending tokens. */
const MODELS_SHOWN = 10;

interface BannerProps {
  readonly unpriced: Unpriced;
  /** Names the days. */
  readonly span: string;
  /** True if the session may add prices. */
  readonly mayPrice: boolean;
}

/** Lists the models whose calls cost 0, with an estimate and what to do. */
export function UnpricedBanner({ unpriced, span, mayPrice }: BannerProps) {
  const { models, leftOut, estimateTotal } = unpriced;
  const all = models.length + leftOut;
  const reasons = new Set(models.map(({ reason }) => reason));
  const lacks = !reasons.has("no_tokens")
    ? "no price"
    : `calls without ${reasons.has("no_price") ? "a price or without " : ""}token counts`;
  return models.length > 0 && (
    <section id="unpriced" class="notice warn" aria-labelledby="unpriced-title">
      <h2 id="unpriced-title">
        {all === 1 ? "1 model has" : `${formatCount(all)} models have`} {lacks}
      </h2>
      <p>
        {`Calls ${span} cost $0 here, so the bill is too low`}
        {estimateTotal > 0n && [", by about ", <Money of={estimateTotal} />]}. {mayPrice
          ? "Add a price, see what it changes, then reprice the calls."
          : "To add a price, sign in with a key that has the scope admin."}
        {reasons.has("no_tokens") && " Calls without token counts cannot be priced later: send " +
            "the provider's usage with each call."}
      </p>
      <Table
        label="Models without a price"
        class="fold named"
        columns={mayPrice ? UNPRICED_COLUMNS : UNPRICED_COLUMNS.filter((of) =>
          of !== ACTION
        )}
        rows={models.slice(0, MODELS_SHOWN)}
      />
      {all > MODELS_SHOWN && (
        <p class="soft">{`And ${formatCount(all - MODELS_SHOWN)} more, with fewer tokens.`}</p>
      )}
    </section>
  );
}

const ACTION: Column<EstimatedModel> = {
  head: "What to do",
  cell: ({ name, reason }) => {
    if (reason === "no_tokens") return "send token counts";
    if (name.model === OTHER_MODELS) return "stands for many models";
    const label = `Add a price for ${modelKey(name)}`;
    return <a href={addPath(name)} class="btn small" aria-label={label}>Add a price</a>;
  },
};

const UNPRICED_COLUMNS: readonly Column<EstimatedModel>[] = [
  { head: "Model", isName: true, cell: ({ name }) => modelKey(name) },
  ACTION,
  countColumn("Calls", ({ calls }) => calls, "call"),
  tokenColumn("Tokens in", "tokens in", ({ inputTokens }) => inputTokens),
  tokenColumn("Out", "out", ({ outputTokens }) => outputTokens),
  column(
    "Estimate",
    { class: "words" },
    ({ estimate, reason }) =>
      estimate === null
        ? reason === "no_tokens" ? "no token counts" : "no similar model"
        : ["about ", <Money of={estimate.cost} />, `, as ${modelKey(estimate.row)}`],
  ),
  { head: "Seen", cell: ({ firstSeen, lastSeen }) => daysText(firstSeen, lastSeen) },
];
