/** Counts of a check's outcomes, and 30 days of them. */
import type { CheckCounts, CheckDay } from "../../../domain/checks/store.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { countedText, dayText, formatCount, percentText } from "../components/format.ts";
import { OUTCOMES } from "./outcome.tsx";

const NONE: CheckCounts = { pass: 0, fail: 0, error: 0, skipped: 0 };

/** Adds counts. */
export function sumOf(all: readonly CheckCounts[]): CheckCounts {
  return all.reduce((sum, { pass, fail, error, skipped }) => ({
    pass: sum.pass + pass,
    fail: sum.fail + fail,
    error: sum.error + error,
    skipped: sum.skipped + skipped,
  }), NONE);
}

/** Returns the share of the decided runs that passed; an error is no pass. */
export function passRate({ pass, fail, error }: CheckCounts): string {
  return percentText(pass, pass + fail + error);
}

/** Returns counts as words, such as "412 passed, 7 failed". */
export function countsText(counts: CheckCounts): string {
  const parts = (["pass", "fail", "error", "skipped"] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${formatCount(counts[status])} ${OUTCOMES[status][0]}`);
  return parts.length === 0 ? "none judged" : parts.join(", ");
}

/** Days of charts, including today. */
const CHART_DAYS = 30;

/** Returns the first and the last UTC day of charts. */
export function chartSpan(nowMs: number): { readonly fromDay: string; readonly toDay: string } {
  return { fromDay: dayOf(nowMs - (CHART_DAYS - 1) * DAY_MS), toDay: dayOf(nowMs) };
}

/** Returns the counts of each day of a chart, oldest first; days without results have zeros. */
export function chartDays(days: readonly CheckDay[], nowMs: number): readonly CheckDay[] {
  const byDay = new Map(days.map((of) => [of.day, of]));
  return Array.from({ length: CHART_DAYS }, (_, i) => {
    const day = dayOf(nowMs - (CHART_DAYS - 1 - i) * DAY_MS);
    return byDay.get(day) ?? { day, agent: null, ...NONE };
  });
}

/** Width of a day with its gap and of its bar, the height of a strip, and that of an empty day. */
const SLOT = 6, BAR = 4, HEIGHT = 22, EMPTY = 2;

/** Minimum height of the part of a bar that failed. */
const LEAST = 4;

/** Outcomes from the bottom of a bar up. */
const STACKED = ["fail", "error", "pass"] as const;

/** The days of a check, one bar each: its lower part is the share that failed. */
export function OutcomeStrip({ days }: { readonly days: readonly CheckDay[] }) {
  const shapes = new Map<string, string>();
  const draw = (name: string, i: number, bottom: number, height: number) => {
    const path = `M${i * SLOT} ${bottom}v-${height}h${BAR}v${height}z`;
    shapes.set(name, (shapes.get(name) ?? "") + path);
  };
  for (const [i, day] of days.entries()) {
    const decided = day.pass + day.fail + day.error;
    if (decided === 0) draw("none", i, HEIGHT, EMPTY);
    let bottom = HEIGHT;
    for (const status of STACKED) {
      if (day[status] === 0) continue;
      const share = Math.round(HEIGHT * day[status] / decided);
      const height = status === "pass" ? bottom : Math.min(bottom, Math.max(LEAST, share));
      if (height > 0) draw(status, i, bottom, height);
      bottom -= height;
    }
  }
  // One shape an outcome instead of one a day keeps a page of many checks small.
  return (
    <svg class="strip" role="img" width={CHART_DAYS * SLOT - (SLOT - BAR)} height={HEIGHT}>
      <title>{stripText(days)}</title>
      {[...shapes].map(([name, d]) => <path class={name} d={d} />)}
    </svg>
  );
}

/** Maximum days named. */
const DAYS_NAMED = 4;

/** Describes a strip in one sentence. */
function stripText(days: readonly CheckDay[]): string {
  const bad = days.filter(({ fail }) => fail > 0).toReversed();
  const text = `${days.length} days: ${countsText(sumOf(days))}`;
  if (bad.length === 0) return text;
  const named = bad.slice(0, DAYS_NAMED).map(({ day }) => dayText(Date.parse(day))).join(", ");
  const more = bad.length > DAYS_NAMED ? " and before" : "";
  return `${text}; failures on ${countedText(bad.length, "day")} (${named}${more})`;
}
