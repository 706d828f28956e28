/** Figures of today, each with its line on that of a usual day. */
import type { Child } from "hono/jsx";
import { queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import { Money } from "../components/elements.tsx";
import { formatCount, moneyText, percentText } from "../components/format.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import { dayRunsPath } from "./charts.tsx";
import type { OverviewData } from "./overview_load.ts";
import { compare, type OpenRun, type SoFar } from "./overview_view.ts";

type StatsProps = Pick<OverviewData, "days" | "usual" | "hours" | "span" | "running"> & {
  readonly openRuns: readonly OpenRun[];
};

export function Stats({ days, usual, hours, span, running, openRuns }: StatsProps) {
  const today = days.at(-1);
  if (today === undefined) return null;
  const { day, runs, failed, timedOut, cost } = today;
  const ended = runs - today.running;
  const over = openRuns.filter(({ isFarOver }) => isFarOver).length;
  const passed = (span.nowMs - span.startMs) / DAY_MS;
  const share = (
    <small>
      {percentText(failed, ended)} of {formatCount(ended)} ended
      {timedOut > 0 && <span>, {formatCount(timedOut)} timed out</span>}
    </small>
  );
  const usualCost = usual === null ? null : moneyText(BigInt(Math.round(usual.cost)));
  return (
    <section class="stats panel" aria-label="Today">
      <Stat
        name="Failed or timed out"
        to={dayRunsPath(day, true)}
        figure={ended === 0 ? formatCount(failed) : <>{formatCount(failed)} {share}</>}
        usual={usual && formatCount(usual.failed)}
        compared={{ now: failed, soFar: hours.failures, passed, isBad: true }}
      />
      <Stat
        name="Runs"
        to={dayRunsPath(day)}
        figure={formatCount(runs)}
        usual={usual && formatCount(usual.runs)}
        compared={{ now: runs, soFar: hours.runs, passed }}
      />
      <Stat
        name="Cost"
        to={SPEND_PATH + queryText([["group_by", "agent"], ["from", day], ["to", day]])}
        figure={<Money of={cost} />}
        usual={usualCost}
        compared={{ now: Number(cost), soFar: hours.cost, passed, isBad: true, isAmount: true }}
      />
      <Stat
        name="Running now"
        to={RUNS_PATH + queryText([["status", "running"]])}
        figure={running.count === null ? "1,000+" : formatCount(running.count)}
        note={
          <span class={over > 0 ? "more" : undefined}>
            {over > 0 ? formatCount(over) : "none"} far over the usual time
          </span>
        }
      />
    </section>
  );
}

interface ComparedProps {
  readonly now: number;
  readonly soFar: SoFar;
  /** Elapsed fraction of today. */
  readonly passed: number;
  readonly isAmount?: boolean;
  /** True if more is worse. */
  readonly isBad?: boolean;
}

interface StatProps {
  readonly name: string;
  readonly to: string;
  readonly figure: Child;
  readonly note?: Child;
  /** Sum of a usual day, named where hours cannot be compared; null without one. */
  readonly usual?: string | null;
  readonly compared?: ComparedProps;
}

function Stat({ name, to, figure, note, usual = null, compared }: StatProps) {
  return (
    <div class="stat">
      <a class="row" href={to}>{name}</a>
      <b>{figure}</b>
      {compared !== undefined && <Line of={compared} />}
      <p>{note ?? (compared !== undefined && <Against of={compared} usual={usual} />)}</p>
    </div>
  );
}

/** Compares a sum with the usual one at this time; without hours it names that of a usual day. */
function Against(
  { of, usual }: { readonly of: ComparedProps; readonly usual: string | null },
) {
  const { now, soFar: { usualNow }, isAmount = false, isBad = false } = of;
  if (usual === null) return <>nothing to compare with yet</>;
  if (usualNow === null) return <>usual day: {usual}</>;
  const { sign, text, isFarAbove } = compare(now, usualNow, !isAmount);
  return (
    <span class={isBad && isFarAbove ? "err-count" : undefined}>
      <span aria-hidden="true">{sign}</span> {text}
    </span>
  );
}

/** Size of a line in its own units. */
const LINE = { width: 116, height: 44 } as const;

/** The sums of today by hour, on those of a usual day. */
function Line({ of }: { readonly of: ComparedProps }) {
  const { now, soFar: { today, usual }, passed, isBad = false, isAmount = false } = of;
  if (usual.length === 0) return null;
  const top = Math.max(now, ...usual) || 1;
  const point = (at: number, sum: number) =>
    `${(LINE.width * at).toFixed(1)} ${(LINE.height * (1 - sum / top)).toFixed(1)}`;
  const hourly = (sums: readonly number[]) => sums.map((sum, i) => point((i + 1) / 24, sum));
  const name = isBad && !isAmount ? "now bad" : "now";
  return (
    <svg class="line" viewBox={`0 0 ${LINE.width} ${LINE.height}`} aria-hidden="true">
      <line class="ground" x2={LINE.width} y1={LINE.height} y2={LINE.height} />
      <polyline class="usual" points={[point(0, 0), ...hourly(usual)].join(" ")} />
      <polyline
        class={name}
        points={[point(0, 0), ...hourly(today), point(passed, now)].join(" ")}
      />
      <circle class={name} cx={LINE.width * passed} cy={LINE.height * (1 - now / top)} r="2.5" />
    </svg>
  );
}
