/** The events of a month as a bar, with marks at the notice thresholds. */
import { NOTICE_PERCENTS } from "../../../domain/teams/quota.ts";
import type { UsageView } from "../../api/teams/usage.ts";
import { percent, Swatch } from "../components/column_chart.tsx";
import { formatCount, percentText } from "../components/format.ts";

/** Scale of the bar, which leaves room after 100% for the label of the mark. */
const SCALE = 1.15;

/** Heights in pixels of the mark labels, of the bar, and in total. */
const TEXT = 16, BAR = 24, ALL = TEXT + BAR + 4;

/**
 * Draws the bar for a plan with a limit; for the current month, with the projection after the used
 * part.
 */
export function MonthBar({ of, isNow }: { readonly of: UsageView; readonly isNow: boolean }) {
  const { used, included, projected, state } = of;
  const most = Math.max(included, used, isNow ? projected : 0) * SCALE;
  const shareOf = (events: number) => percent(100 * events / most);
  const heading = isNow ? `, heading for about ${formatCount(projected)}` : "";
  const title = `${formatCount(used)} of ${formatCount(included)} events used ` +
    `(${percentText(used, included)})${heading}; marks at 80% and 100%`;
  return (
    <>
      <svg class="columns" role="img" width="100%" height={ALL}>
        <title>{title}</title>
        <rect class="track" y={TEXT} width="100%" height={BAR} />
        {isNow ? <rect class="projected" y={TEXT} width={shareOf(projected)} height={BAR} /> : null}
        <rect class={`quota ${state}`} y={TEXT} width={shareOf(used)} height={BAR} />
        {NOTICE_PERCENTS.map((mark) => {
          const x = shareOf(included * mark / 100);
          return (
            <>
              <line class="mark" x1={x} x2={x} y1={TEXT - 3} y2={ALL} />
              <text x={x} y={TEXT - 5} text-anchor={mark === 100 ? "start" : "end"}>{mark}%</text>
            </>
          );
        })}
      </svg>
      <p class="below-chart">
        <Swatch of={`quota ${state}`} /> used {isNow
          ? (
            <>
              <Swatch of="projected" /> at the present pace{" "}
            </>
          )
          : null}
        · the owner is notified at{" "}
        {NOTICE_PERCENTS.map((mark) => `${formatCount(included * mark / 100)} (${mark}%)`).join(
          " and ",
        )}
      </p>
    </>
  );
}
