/** The view of the run list, from what was read. */
import type { RunId } from "../../../domain/core/ids.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import { judgeAgent } from "../../../domain/judges/judge.ts";
import {
  causesOf,
  NO_FAMILY,
  type RunListRow,
  timesUsual,
  UNUSUAL,
  type UsualRun,
} from "../../../domain/runs/list.ts";
import { type RunLines, UNUSUAL_FIGURES } from "../../../domain/runs/list_filter.ts";
import { compactText, countedText, durationText, moneyText } from "../components/format.ts";
import { FLAG_WORDS, STUCK_MS } from "../components/run_state.tsx";
import { failedPathOf, type Failure, isFailure, nameOr } from "../run/texts.ts";
import { NOTE_KINDS, type RunNote, TRAIT_NOTES } from "./query.ts";
import { type RunsData, sumByName } from "./runs_load.ts";

/** A row of the list. */
export type RunRow = ReturnType<typeof rowsOf>[number];

/** Returns the rows of a list: its runs, and the child runs of unfolded runs. */
export function rowsOf(data: RunsData) {
  const open = data.query.getAll("open");
  return data.page.rows.flatMap((run) => {
    const children = open.includes(run.id) ? data.families.get(run.id)?.children ?? [] : [];
    return [rowOf(data, run), ...children.map((child) => rowOf(data, child, true))];
  });
}

function rowOf(data: RunsData, run: RunListRow, isChild = false) {
  const { query, families, lines, usual, nowMs } = data;
  const { id, status, startedAt, receivedAt, usage } = run;
  const { children, isCut, failures, ...family } = families.get(id) ?? NO_FAMILY;
  const openMs = status === "running" ? nowMs - (startedAt ?? receivedAt) : null;
  const tookMs = run.durationMs ?? openMs;
  const tokens = usage.inputTokens + usage.outputTokens + family.tokens;
  const name = nameOr(run, lines.get(id)?.name);
  const failure = failureOf(run, lines, failures);
  const cursor = query.get("cursor");
  return {
    run,
    name,
    class: [isFailure(status) && "failed", isChild && "child"].filter(Boolean).join(" ") ||
      undefined,
    /** Why it failed; null for no failure. Its name may be its message. */
    failure: failure?.message === name ? { ...failure, message: null } : failure,
    /** Time from its start to its end, or until now; null if unknown. */
    took: tookMs === null ? null : durationText(Math.max(0, tookMs)),
    /** Cost and tokens of the run and of its descendants; tokens are null for none. */
    cost: run.cost.amount + family.cost,
    tokens: tokens === 0n ? null : compactText(tokens),
    /** Number of child runs, such as `2` or `25+`, and a link that shows or hides them. */
    children: children.length === 0 ? null : {
      text: `${children.length}${isCut ? "+" : ""}`,
      isOpen: query.getAll("open").includes(id),
      to: `${query.togglePath("open", id, true, { cursor })}#${id}`,
    },
    notes: notesOf(run, openMs ?? 0, failures.length, usual.get(run.agent ?? "") ?? null),
  };
}

/**
 * Returns why a run failed, in its own words, else in those of the run that caused it; null for no
 * failure.
 *
 * @param failures failed descendants of the run, and others
 */
export function failureOf(
  run: RunListRow,
  lines: ReadonlyMap<RunId, RunLines>,
  failures: readonly RunListRow[],
): Failure | null {
  if (!isFailure(run.status)) return null;
  const causes = causesOf(run.id, failures);
  const idleMs = (lines.get(run.id)?.idleTimeoutSeconds ?? 0) * 1_000;
  const silence = run.closedBy === "idle" &&
    (idleMs === 0 ? "Closed without an event" : `No event for ${durationText(idleMs)}`);
  const [reason] = [run, ...causes.toReversed()].flatMap(({ id }) => lines.get(id)?.error ?? []);
  return { message: reason ?? (silence || null), path: failedPathOf(run, causes) };
}

/** Returns the notes about a run, the most important first. */
function notesOf(run: RunListRow, openMs: number, failures: number, usual: UsualRun | null) {
  const { cost, has, closedBy, usage: { errors } } = run;
  const isFailed = isFailure(run.status);
  const [unpriced, ...others] = cost.unpricedModels;
  const failed = `${failures} ${failures === 1 ? "child" : "children"} failed`;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const unusual = UNUSUAL_FIGURES.map((figure): RunNote | false => {
    const times = timesUsual(run, usual, figure);
    const noun = figure === "slow" ? "time" : "cost";
    return times >= UNUSUAL.factor &&
      ["warn", `${times.toFixed(times < 10 ? 1 : 0)}× usual ${noun}`];
  });
  // A run without its opening has the trait `orphan` too.
  const flags = [...run.flags, ...cost.flags].filter((flag) => flag !== "no_opening");
  const notes: readonly (RunNote | false)[] = [
    openMs > STUCK_MS && ["warn", "stuck"],
    failures > 0 && !isFailed && ["warn", failed],
    ...unusual,
    closedBy === "idle" && !isFailed && ["warn", "closed without an event"],
    errors > 0 && !isFailed && ["bad", countedText(errors, "error")],
    // Models without a price are shown by their names.
    ...has.map((trait) => trait !== "unpriced" && TRAIT_NOTES[trait]),
    unpriced !== undefined && ["warn", `no price: ${unpriced}${more}`],
    ...flags.map((flag): RunNote => ["warn", FLAG_WORDS[flag][0].toLowerCase()]),
  ];
  return notes.filter((note) => note !== false)
    .toSorted(([a], [b]) => NOTE_KINDS.indexOf(a) - NOTE_KINDS.indexOf(b));
}

/** Says in one sentence what the days of the counts had; null without counts. */
export function sumsText({ counts }: RunsData): string | null {
  const byStatus = counts?.values.get("status");
  if (counts === null || byStatus === undefined) return null;
  const { runs } = counts;
  if (runs === 0) return null;
  const failed = (byStatus.get("failed") ?? 0) + (byStatus.get("timeout") ?? 0);
  const { from, to } = counts.days;
  const days = countedText((Date.parse(to) - Date.parse(from)) / DAY_MS + 1, "day");
  return `${countedText(runs, "run")}, ${failed} failed, ${
    moneyText(counts.cost)
  } in ${days} (UTC)`;
}

/** Score from which runs are chosen when a score is picked from a menu. */
const SCORE_PICKED = 0.5;

/** Runs by value, the most frequent first, by the name of the filter. */
export type ValueCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Returns the counts of known values by filter, with the labels and scores of the page. */
export function valueCounts({ counts, judges, lines }: RunsData): ValueCounts {
  const shown = [...lines.values()];
  const labels = shown.flatMap(({ metadata }) => metadata.map(([key, value]) => `${key}=${value}`));
  const names = shown.flatMap(({ scores }) => scores.map(([name]) => [name, 1] as const));
  // Judges are offered also where no run of the page has a score of theirs.
  const judged = judges.map(({ slug }) => [judgeAgent(slug), 0] as const);
  const scores = sumByName(
    [...names, ...judged].map(([name, runs]) => [`${name}=${SCORE_PICKED}`, runs] as const),
  );
  return new Map([
    ...counts?.values ?? [],
    ["metadata", sumByName(labels.map((text) => [text, 1]))],
    ["min_score", scores],
    ["max_score", scores],
  ]);
}

/** Says how many runs the page has, and of all only if these are all. */
export function captionOf({ query, request, page: { rows, next } }: RunsData): string {
  const runs = countedText(rows.length, request.query.isRoot ? "root run" : "run");
  if (next !== null || query.has("cursor")) return `${runs} on this page, newest first`;
  return rows.length === 1 ? runs : `All ${runs}, newest first`;
}
