/** Four metrics of today, each compared with a usual day. */
import { PLAN_PATH, queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import { Tile, type TileProps } from "../components/tile.tsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, formatCount, percentText } from "../components/format.ts";
import { type Compared, compareFailures, compareSum, type DayMetrics } from "./day_metrics.ts";
import type { QuotaUse } from "../../../domain/teams/quota.ts";
import type { Overview } from "./read.ts";

export function OverviewTiles(overview: Overview) {
  const { days, usual, quota } = overview;
  const today = days.at(-1);
  if (today === undefined) return null;
  return (
    <>
      <section class="tiles" aria-label="Today">
        <RunsTile {...overview} today={today} />
        <FailedTile {...overview} today={today} />
        <CostTile {...overview} today={today} />
        {quota !== undefined && <QuotaTile {...quota} />}
      </section>
      {usual !== null && (
        <p class="soft">
          A usual day is the average of the{" "}
          {usual.days === 1 ? "day" : countedText(usual.days, "day")}{" "}
          before today. “More than usual” appears once today exceeds a full usual day.
        </p>
      )}
    </>
  );
}

type TodayProps = Overview & { readonly today: DayMetrics };

function RunsTile({ today, usual, span: { passed } }: TodayProps) {
  return (
    <LinkTile
      name="Runs today"
      to={`${RUNS_PATH}${queryText([["from", today.day], ["to", today.day]])}`}
      value={formatCount(today.runs)}
    >
      <Comparison of={compareSum(today.runs, usual?.runs, passed)} isBad={false} />
      {usual !== null && <span>usual day: {formatCount(usual.runs)}</span>}
      {today.running > 0 && <span>{formatCount(today.running)} under way</span>}
    </LinkTile>
  );
}

function FailedTile({ today, usual }: TodayProps) {
  const ended = today.runs - today.running;
  const comparison = compareFailures(today, usual);
  return (
    <LinkTile
      name="Failed or timed out"
      to="#failures"
      value={formatCount(today.failed)}
      isBad={comparison === "more"}
    >
      <Comparison of={comparison} isBad />
      {ended > 0 && <span>{percentText(today.failed, ended)} of those that ended</span>}
      {usual !== null && (
        <span>usually {percentText(Math.round(usual.failedShare * 1e6), 1e6)}</span>
      )}
    </LinkTile>
  );
}

function CostTile({ today: { day, cost }, usual, span: { passed } }: TodayProps) {
  const to = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", day], ["to", day]])}`;
  const usualCost = usual === null ? undefined : Number(usual.cost);
  return (
    <LinkTile name="Cost today" to={to} value={<Money of={cost} />}>
      <Comparison of={compareSum(Number(cost), usualCost, passed)} isBad />
      {usual !== null && (
        <span>
          usual day: <Money of={usual.cost} />
        </span>
      )}
    </LinkTile>
  );
}

function QuotaTile({ month, used, included, state }: QuotaUse) {
  return (
    <LinkTile
      name={`Events in ${month}`}
      to={PLAN_PATH}
      value={compactText(used)}
      isBad={state === "over"}
    >
      {included === Infinity
        ? <span>the plan has no limit</span>
        : <span>{percentText(used, included)} of {compactText(included)} in the plan</span>}
    </LinkTile>
  );
}

interface LinkTileProps extends TileProps {
  readonly to: string;
  readonly isBad?: boolean;
}

function LinkTile({ name, to, value, isBad, children }: LinkTileProps) {
  const valueAttributes = { class: isBad ? "bad" : "" };
  return (
    <Tile
      name={<a class="row" href={to}>{name}</a>}
      value={value}
      valueAttributes={valueAttributes}
    >
      <small class="about">{children}</small>
    </Tile>
  );
}

const COMPARISONS = {
  more: ["▲", "more than usual"],
  less: ["▼", "less than usual"],
  usual: ["●", "as usual so far"],
} as const;

function Comparison({ of, isBad }: { readonly of: Compared; readonly isBad: boolean }) {
  if (of === null) return <span>nothing to compare with yet</span>;
  const [sign, word] = COMPARISONS[of];
  return (
    <span class={of === "more" && isBad ? "word bad" : "word"}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}
