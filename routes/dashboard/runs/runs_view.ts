/** The rows of the run list, from what was read. */
import type { RunId } from "../../../domain/core/ids.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { CostFlag } from "../../../domain/runs/cost.ts";
import type { RunFlag } from "../../../domain/runs/flags.ts";
import type { RunLines } from "../../../domain/runs/lines.ts";
import {
  NO_FAMILY,
  type RunListRow,
  type RunTrait,
  timesUsual,
  UNUSUAL,
  type UsualRun,
} from "../../../domain/runs/list.ts";
import { UNUSUAL_FIGURES } from "../../../domain/runs/list_filter.ts";
import { countedText, durationText, moneyText } from "../components/format.ts";
import { STUCK_MS } from "../components/run_columns.tsx";
import { isFailure } from "../run/steps.ts";
import { shortId } from "../run/title.ts";
import type { ValueCounts } from "./filters.tsx";
import type { RunsData } from "./runs_load.ts";

/** A row of the list. */
export interface RunRow {
  readonly run: RunListRow;
  readonly name: string;
  /** Reason of the failure; null for none. */
  readonly reason: string | null;
  /** Milliseconds from its start to its end, or until now; null if unknown. */
  readonly tookMs: number | null;
  /** Cost and tokens with those of its descendants. */
  readonly cost: Picodollars;
  readonly tokens: bigint;
  /** Number of child runs, such as `2` or `25+`; null for none. */
  readonly children: string | null;
  /** True if its child runs follow it. */
  readonly isOpen: boolean;
  /** True if it follows its parent. */
  readonly isChild: boolean;
  readonly isFresh: boolean;
  readonly notes: readonly RunNote[];
}

/** Returns the rows of a list: its runs, and the child runs of those that are open. */
export function rowsOf(data: RunsData): readonly RunRow[] {
  const open = new Set(data.query.getAll("open"));
  return data.page.rows.flatMap((run) => {
    const isOpen = open.has(run.id);
    const children = isOpen ? data.families.get(run.id)?.children ?? [] : [];
    return [
      { ...rowOf(data, run), isOpen },
      ...children.map((child) => ({ ...rowOf(data, child), isChild: true })),
    ];
  });
}

function rowOf(data: RunsData, run: RunListRow): RunRow {
  const { families, lines, usual, fresh, nowMs } = data;
  const family = families.get(run.id) ?? NO_FAMILY;
  const { children, isCut } = family;
  const cause = children.find(({ status }) => isFailure(status));
  const { inputTokens, outputTokens } = run.usage;
  const startedAt = run.startedAt ?? run.receivedAt;
  const isOpen = run.status === "running";
  const name = nameOf(run, lines.get(run.id));
  const notes: RunNote[] = [
    ...isOpen && nowMs - startedAt > STUCK_MS ? [{ kind: "warn", text: "stuck" } as const] : [],
    ...family.failed > 0 && !isFailure(run.status)
      ? [
        {
          kind: "warn",
          text: `${family.failed} ${family.failed === 1 ? "child" : "children"} failed`,
        } as const,
      ]
      : [],
    ...unusualNotes(run, usual.get(run.agent ?? "") ?? null),
    ...notesOf(run),
  ];
  const reason = reasonOf(run, lines.get(run.id), cause, lines.get(cause?.id as RunId));
  return {
    run,
    name,
    reason: reason === name ? null : reason,
    tookMs: run.durationMs ?? (isOpen ? Math.max(0, nowMs - startedAt) : null),
    cost: run.cost.amount + family.cost,
    tokens: inputTokens + outputTokens + family.tokens,
    children: children.length === 0 ? null : `${children.length}${isCut ? "+" : ""}`,
    isOpen: false,
    isChild: false,
    isFresh: fresh.has(run.id),
    notes: notes.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)),
  };
}

/** Kinds of notes, the most important first. */
const KINDS: readonly RunNote["kind"][] = ["bad", "warn", "soft"];

/** Returns the name of a run: the first line of its goal, else its agent and its id. */
export function nameOf({ id, agent }: RunListRow, lines: RunLines | undefined): string {
  return lines?.name ??
    (agent === null ? "A run without its opening" : `${agent} ${shortId(id)}`);
}

/** Returns why a run failed: in its own words, else in those of the child run that failed. */
export function reasonOf(
  run: RunListRow,
  lines: RunLines | undefined,
  cause: RunListRow | undefined,
  ofCause: RunLines | undefined,
): string | null {
  if (!isFailure(run.status)) return null;
  const { idleTimeoutSeconds = null } = lines ?? {};
  const silence = run.closedBy !== "idle"
    ? null
    : idleTimeoutSeconds === null
    ? "Closed without an event"
    : `No event for ${durationText(idleTimeoutSeconds * 1_000)}`;
  const reason = lines?.error ?? ofCause?.error ?? silence;
  const where = cause?.agent ?? null;
  return [reason, where === null ? null : `in ${where}`].filter(Boolean).join(" · ") || null;
}

export interface RunNote {
  /** `bad` for failures, `warn` for what is far from usual and for reasons to doubt a metric. */
  readonly kind: "bad" | "warn" | "soft";
  readonly text: string;
}

/** Returns how far the duration and the cost of a run are above the usual ones of its agent. */
function unusualNotes(run: RunListRow, usual: UsualRun | null): readonly RunNote[] {
  return UNUSUAL_FIGURES.flatMap((figure) => {
    const times = timesUsual(run, usual, figure);
    if (times < UNUSUAL.factor) return [];
    const noun = figure === "slow" ? "time" : "cost";
    return [{ kind: "warn" as const, text: `${times.toFixed(times < 10 ? 1 : 0)}× usual ${noun}` }];
  });
}

const FLAG_NOTES: Readonly<Record<RunFlag | CostFlag, string | null>> = {
  batch_rate_missing: "no batch rate",
  dropped_fields: "fields not stored",
  future_start: "starts in the future",
  ignored_fields: "unknown fields ignored",
  negative_duration: "ends before it starts",
  // Same as the trait `orphan`.
  no_opening: null,
  no_tokens: "a call without token counts",
  truncated: "values cut to their limit",
  unreadable_figures: "unreadable numbers",
  cached_exceeds_input: "more cached than input tokens",
};

const TRAIT_NOTES: Readonly<Record<RunTrait, RunNote | null>> = {
  // Shown with the names of the models.
  unpriced: null,
  failed_check: { kind: "bad", text: "failed a check" },
  late: { kind: "soft", text: "events after its end" },
  orphan: { kind: "warn", text: "no opening yet" },
};

/** Lists the notes about a run. */
export function notesOf(row: RunListRow): readonly RunNote[] {
  const { status, usage: { errors }, cost, flags, has, closedBy } = row;
  const [unpriced, ...others] = cost.unpricedModels;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const notes: readonly (RunNote | null)[] = [
    closedBy === "idle" && !isFailure(status)
      ? { kind: "warn", text: "closed without an event" }
      : null,
    errors === 0 || isFailure(status) ? null : { kind: "bad", text: countedText(errors, "error") },
    ...has.map((trait) => TRAIT_NOTES[trait]),
    unpriced === undefined ? null : { kind: "warn", text: `no price: ${unpriced}${more}` },
    ...[...flags, ...cost.flags].flatMap((flag) => FLAG_NOTES[flag] ?? [])
      .map((text) => ({ kind: "warn" as const, text })),
  ];
  return notes.filter((note) => note !== null);
}

/** Says in one sentence what the days of the counts had; null without counts. */
export function sumsText({ counts }: RunsData): string | null {
  const byStatus = counts?.values.get("status");
  if (counts === null || byStatus === undefined) return null;
  const runs = [...byStatus.values()].reduce((sum, count) => sum + count, 0);
  if (runs === 0) return null;
  const failed = (byStatus.get("failed") ?? 0) + (byStatus.get("timeout") ?? 0);
  const { from, to } = counts.days;
  const days = countedText((Date.parse(to) - Date.parse(from)) / DAY_MS + 1, "day");
  const sums = `${countedText(runs, "run")}, ${failed} failed, ${moneyText(counts.cost)}`;
  return `${sums} in ${days} (UTC)`;
}

/** Score from which runs are chosen when a score is picked from a menu. */
const SCORE_PICKED = 0.5;

/** Returns the counts of known values by filter: also those of the labels and scores of the page. */
export function valueCounts({ counts, lines }: RunsData): ValueCounts {
  const shown = [...lines.values()];
  const labels = shown.flatMap(({ metadata }) => metadata.map(([key, value]) => `${key}=${value}`));
  const scores = shown.flatMap(({ scores }) => scores.map(([name]) => `${name}=${SCORE_PICKED}`));
  const [ofLabels, ofScores] = [countEach(labels), countEach(scores)];
  return new Map([
    ...counts?.values ?? [],
    ["metadata", ofLabels],
    ["min_score", ofScores],
    ["max_score", ofScores],
  ]);
}

/** Counts equal texts, the most frequent first. */
function countEach(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}
