/** Four metrics of today, each compared with a usual day. */
import { queryText, RUNS_PATH, SPEND_PATH, USAGE_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { Tile } from "../components/tile.tsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, formatCount, percentText } from "../components/format.ts";
import {
  type Compared,
  compareFailures,
  compareSum,
  type DayMetrics,
  type UsualDay,
  usualDayOf,
} from "./day_metrics.ts";
import type { Overview, Quota } from "./read.ts";

export function OverviewTiles({ of: { days, span, quota } }: { readonly of: Overview }) {
  const today = days.at(-1);
  if (today === undefined) return null;
  const usual = usualDayOf(days.slice(0, -1));
  const of = { today, usual, day: span.today };
  return (
    <>
      <section class="tiles" aria-label="Today">
        <RunsTile {...of} passed={span.passed} />
        <FailedTile today={today} usual={usual} />
        <CostTile {...of} passed={span.passed} />
        <QuotaTile of={quota} />
      </section>
      {usual === null ? null : (
        <p class="soft">
          A usual day is the average of the{" "}
          {usual.days === 1 ? "day" : countedText(usual.days, "day")}{" "}
          before today. “More than usual” appears once today exceeds a full usual day.
        </p>
      )}
    </>
  );
}

interface CompareProps {
  readonly today: DayMetrics;
  readonly usual: UsualDay | null;
  readonly day: string;
}

function RunsTile({ today, usual, day, passed }: CompareProps & { readonly passed: number }) {
  return (
    <LinkTile
      name="Runs today"
      to={`${RUNS_PATH}${queryText([["from", day], ["to", day]])}`}
      value={formatCount(today.runs)}
    >
      <Comparison of={compareSum(today.runs, usual?.runs, passed)} isBad={false} />
      {usual === null ? null : <span>usual day: {formatCount(usual.runs)}</span>}
      {today.running === 0 ? null : <span>{formatCount(today.running)} under way</span>}
    </LinkTile>
  );
}

function FailedTile({ today, usual }: Omit<CompareProps, "day">) {
  const ended = today.runs - today.running;
  const comparison = compareFailures(today, usual);
  const share = usual === null ? null : percentText(Math.round(usual.failedShare * 1e6), 1e6);
  return (
    <LinkTile
      name="Failed or timed out"
      to="#failures"
      value={formatCount(today.failed)}
      isBad={comparison === "more"}
    >
      <Comparison of={comparison} isBad />
      {ended === 0 ? null : <span>{percentText(today.failed, ended)} of those that ended</span>}
      {share === null ? null : <span>usually {share}</span>}
    </LinkTile>
  );
}

function CostTile({ today, usual, day, passed }: CompareProps & { readonly passed: number }) {
  const to = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", day], ["to", day]])}`;
  const usualCost = usual === null ? undefined : Number(usual.cost);
  return (
    <LinkTile name="Cost today" to={to} value={<Money of={today.cost} />}>
      <Comparison of={compareSum(Number(today.cost), usualCost, passed)} isBad />
      {usual === null ? null : (
        <span>
          usual day: <Money of={usual.cost} />
        </span>
      )}
    </LinkTile>
  );
}

function QuotaTile({ of }: { readonly of: Quota }) {
  const isLimited = of.included !== Infinity;
  return (
    <LinkTile
      name={`Events in ${of.month}`}
      to={USAGE_PATH}
      value={compactText(of.used)}
      isBad={of.state === "over"}
    >
      {isLimited
        ? <span>{percentText(of.used, of.included)} of {compactText(of.included)} in the plan</span>
        : <span>the plan has no limit</span>}
    </LinkTile>
  );
}

interface LinkTileProps {
  readonly name: string;
  readonly to: string;
  readonly value: Child;
  readonly isBad?: boolean;
  readonly children?: Child;
}

function LinkTile({ name, to, value, isBad = false, children }: LinkTileProps) {
  return (
    <Tile
      name={<a href={to}>{name}</a>}
      value={value}
      valueAttributes={{ class: isBad ? "bad" : "" }}
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
