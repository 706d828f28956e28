/** Checks in words: what they judge, their outcomes, and the runs that they judged. */
import { InlineNotice, type Label, LabelSign } from "../components/elements.tsx";
import type { RunChoice } from "../../../domain/checks/apply_checks.ts";
import type {
  CheckCounts,
  CheckDay,
  CheckFailure,
  CheckStats,
  TrialResult,
} from "../../../domain/checks/check_store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { CheckSeverity, CheckStatus } from "../../../domain/runs/check_result.ts";
import { RUN_KINDS } from "../../../domain/runs/cost.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { barsOf } from "../components/monitor.tsx";
import { countedText, dayText, formatCount, listed, percentText } from "../components/format.ts";
import { type Column, column, nameColumn, Table } from "../components/table.tsx";
import { runPath } from "../layout/paths.ts";
import { shortId, titleOf } from "../run/texts.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";

/** The word, the icon and the class of each outcome. */
export const OUTCOMES: Readonly<Record<CheckStatus, Label>> = {
  fail: ["failed", "bad"],
  error: ["not decided", "warn"],
  skipped: ["skipped", "off"],
  pass: ["passed", "ok"],
};

/** Consequences of a failure, by severity. */
export const SEVERITY_WORDS: Readonly<Record<CheckSeverity, string>> = {
  info: "shown on the run",
  warn: "a rule can open an incident",
  fail: "also marks the run as one that failed a check",
};

/** Maximum names of a list in words. */
const NAMED = 3;

/** Returns the runs that a check judges, such as "runs of support-triage that ended as success". */
export function appliesWords(settings: RunChoice): string {
  const { agents, kinds, statuses, features, sample } = settings;
  const noun = kinds.length === RUN_KINDS.length ? "runs" : kinds.map((of) => `${of}s`).join(", ");
  const ofAll = agents.length === 0 || agents.includes("*");
  const parts = [
    sample === 1 ? null : `${Number((sample * 100).toPrecision(4))}% of`,
    ofAll ? `all ${noun}` : `${noun} of ${listed(agents, NAMED)}`,
    features.length === 0 ? null : `for ${listed(features, NAMED)}`,
    statuses.length === FINISH_STATUSES.length ? null : `that ended as ${statuses.join(" or ")}`,
  ];
  return parts.filter((part) => part !== null).join(" ");
}

/** Returns columns of runs that a check judged: their goals and agents, and the columns of the list. */
export function judgedColumns<Row extends { readonly run: RunId }>(
  runs: ReadonlyMap<RunId, RunRecord>,
  own: readonly Column<Row>[],
): readonly Column<Row>[] {
  return [
    nameColumn("Run", ({ run: id }) => {
      const run = runs.get(id);
      return run === undefined
        ? <span class="soft" title={id}>{shortId(id)}, deleted</span>
        : <a class="row" href={runPath(id)}>{titleOf({ run })}</a>;
    }),
    { head: "Agent", cell: ({ run }) => runs.get(run)?.agent ?? "–" },
    ...own,
  ];
}

type Ends = ReadonlyMap<RunId, Pick<RunRecord, "finishedAt">>;

/** Returns when a failed run ended. Statistics only have the arrival, which is later for imports. */
export function endOf({ run, at }: CheckFailure, runs: Ends): number {
  return runs.get(run)?.finishedAt ?? at;
}

/** Returns the end of the first run since which a check fails; null if it does not. */
export function failingFrom({ failures, failingSince }: CheckStats, runs: Ends): number | null {
  const first = failures.find(({ at }) => at === failingSince);
  return first === undefined ? failingSince : endOf(first, runs);
}

/** Runs that the form's button judges. */
export const TRIED_RUNS = 50;

/** Result of a dry run, with the runs of its examples. */
interface Tried extends TrialResult {
  readonly byId: ReadonlyMap<RunId, RunRecord>;
}

/** Results of a check that is tried on the latest runs. */
export function TrialOutcome(tried: Tried) {
  const { runs, isCut, examples, byId } = tried;
  if (runs === 0) {
    return (
      <InlineNotice kind="warn">
        <p>No closed run fits the agents, kinds, statuses and features above.</p>
      </InlineNotice>
    );
  }
  const columns = judgedColumns<TrialResult["examples"][number]>(byId, [
    { head: "Outcome", cell: ({ status }) => <LabelSign of={OUTCOMES[status]} /> },
    column("Why", { class: "whole" }, ({ message, got }) => [
      message,
      got !== null && got !== "" && (
        <span class="under">
          got <code>{got}</code>
        </span>
      ),
    ]),
  ]);
  return (
    <>
      <InlineNotice kind={tried.fail + tried.error === 0 ? "good" : "warn"}>
        <p>
          <b>{countsText(tried)}</b> of {countedText(runs, "run")}. Nothing is stored.
          {isCut && " The time for a dry run ended before all runs were judged."}
        </p>
      </InlineNotice>
      <Table label="Examples" class="fold trial" columns={columns} rows={examples} />
    </>
  );
}

const NONE: CheckCounts = { pass: 0, fail: 0, error: 0, skipped: 0 };

/** Adds counts. */
export function sumOf(all: readonly CheckCounts[]): CheckCounts {
  return all.reduce(
    (sum, { pass, fail, error, skipped }) => addCounts(sum, { pass, fail, error, skipped }),
    NONE,
  );
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

/** The height of a strip, and that of an empty day. */
const HEIGHT = 22, EMPTY = 2;

/** Minimum height of the part of a bar that failed. */
const LEAST = 4;

/** Outcomes from the bottom of a bar up. */
const STACKED = ["fail", "error", "pass"] as const;

/** The days of a check, one bar each: its lower part is the share that failed. */
export function OutcomeStrip({ days }: { readonly days: readonly CheckDay[] }) {
  const bars = days.map((day) => {
    const decided = day.pass + day.fail + day.error;
    if (decided === 0) return [["none", EMPTY]] as const;
    let left = HEIGHT;
    return STACKED.filter((status) => day[status] > 0).map((status) => {
      const share = Math.max(LEAST, Math.round(HEIGHT * day[status] / decided));
      const height = status === "pass" ? left : Math.min(left, share);
      left -= height;
      return [status, height] as const;
    });
  });
  return barsOf(stripText(days), bars, HEIGHT);
}

/** Maximum days named. */
const DAYS_NAMED = 4;

/** Describes a strip in one sentence. */
function stripText(days: readonly CheckDay[]): string {
  const bad = days.filter(({ fail }) => fail > 0).toReversed();
  const text = `${days.length} days: ${countsText(sumOf(days))}`;
  if (bad.length === 0) return text;
  const named = listed(bad.map(({ day }) => dayText(day)), DAYS_NAMED);
  return `${text}; failures on ${countedText(bad.length, "day")} (${named})`;
}
