/**
 * Signals of runs: how they ended, what they cost, and which models had no price. Those of checks are in
 * `check_signals.ts`.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { closeKind } from "../outcomes/outcome.ts";
import { dollarsText, picodollarsOf } from "../pricing/money.ts";
import { isRest, isSameModel, type ModelUsage } from "../runs/model_usage.ts";
import { closeArrivalOf, type RunSummary } from "../runs/summary.ts";
import { matches } from "./match.ts";
import { IMPORT_SECONDS, type Rule, RULES_PER_SIGNAL_MAX } from "./rule.ts";
import type { AlertSignal, SignalSubject } from "./signal.ts";

/** Maximum models without a price that one change of a run reports. */
const MODELS_MAX = 5;

/** A changed run. */
export interface RunChange {
  /** Identifier. */
  readonly id: RunId;
  /** Summary before; null for none. */
  readonly before: RunSummary | null;
  /** Summary after; null for a removed run, which gives no signal. */
  readonly after: RunSummary | null;
  /** Latest arrival of its events, unix milliseconds; null for none. */
  readonly latestAt: number | null;
}

/** Outcome of a run that `run_failed` counts; null for an open or cancelled run, or an import. */
export function closeOutcomeOf(summary: RunSummary | null): "good" | "bad" | null {
  return summary === null || isImported(summary) ? null : closeKind(summary);
}

/** Returns the signals that the close of a run gives `run_failed`; none if nothing changed. */
export function closeSignals({ id, before, after }: RunChange): AlertSignal[] {
  const [old, now] = [closeOutcomeOf(before), closeOutcomeOf(after)];
  const signals: AlertSignal[] = [];
  const isMoved = old !== null && before !== null &&
    (now === null || after === null || !isSameSubject(before, after));
  if (isMoved) signals.push(signalOf("run_failed", id, before, "none"));
  if (now === null || after === null) return signals;
  if (!isMoved && old !== null && before !== null && isSameClose(before, after)) return signals;
  const detail = after.contribution?.labels.status ?? null;
  signals.push({ ...signalOf("run_failed", id, after, now), detail });
  return signals;
}

/**
 * Returns the signals that the cost of a run gives rules of the kind `run_cost`: once, when it
 * passes what the rule allows.
 */
export function costSignals(change: RunChange, rules: readonly Rule[]): AlertSignal[] {
  const { id, before, after } = change;
  const cost = after?.contribution?.cost ?? 0n;
  const known = before?.contribution?.cost ?? 0n;
  if (after === null || cost === known || isImported(after)) return [];
  const subject = subjectOf(after);
  const matching = rules.filter(({ settings }) => matches(settings.match, subject))
    .slice(0, RULES_PER_SIGNAL_MAX);
  return matching.flatMap(({ slug, settings: { condition } }): AlertSignal[] => {
    if (condition.kind !== "run_cost") return [];
    const max = picodollarsOf(condition.usd);
    if (known > max === cost > max) return [];
    const outcome = cost > max ? "bad" : "none";
    const signal = signalOf("run_cost", id, after, outcome, arrivalOf(change));
    const value = Number(dollarsText(cost));
    return [{ ...signal, rule: slug, value }];
  });
}

/** Returns a signal for each model without a price that a run has called again. */
export function unpricedSignals(change: RunChange): AlertSignal[] {
  const { id, before, after } = change;
  const models = after?.contribution?.models ?? [];
  const known = before?.contribution?.models ?? [];
  if (after === null || models === known || isImported(after)) return [];
  const called = models.filter((line) => line.priced === false && !isRest(line) && line.calls > 0);
  return called.filter((line) => line.calls > callsOf(known, line)).slice(0, MODELS_MAX)
    .map((line) => {
      const signal = signalOf("unpriced", id, after, "bad", arrivalOf(change));
      const model = line.provider === null ? line.model : `${line.provider}/${line.model}`;
      return { ...signal, key: model, subject: { ...signal.subject, model } };
    });
}

function callsOf(lines: readonly ModelUsage[], line: ModelUsage): number {
  return lines.find((one) => one.priced === false && isSameModel(one, line))?.calls ?? 0;
}

/** Returns the subject of a run's signals. */
export function subjectOf({ contribution }: RunSummary): SignalSubject {
  const { agent = null, customer = null, feature = null } = contribution?.labels ?? {};
  return { agent, customer, feature, model: null };
}

/** Returns a signal of a run, without what it measured. */
export function signalOf(
  kind: AlertSignal["kind"],
  run: RunId,
  summary: RunSummary,
  outcome: AlertSignal["outcome"],
  at = closeArrivalOf(summary),
): AlertSignal {
  const subject = subjectOf(summary);
  return {
    kind,
    rule: null,
    subject,
    key: run,
    at,
    outcome,
    run,
    value: null,
    detail: null,
    error: null,
  };
}

/** Returns the latest arrival of a run, unix milliseconds. */
function arrivalOf({ after, latestAt }: RunChange): number {
  return Math.max(after?.times?.receivedAt ?? 0, latestAt ?? 0);
}

/**
 * Returns whether a run ended long before its close arrived, or began long before its opening
 * arrived. An idle close arrives up to a day after the run's last event.
 */
export function isImported(
  { seen: { closedBy }, shown: { finishedAt }, times }: RunSummary,
): boolean {
  if (times === null) return false;
  const seconds = closedBy === "idle" ? 2 * IMPORT_SECONDS : IMPORT_SECONDS;
  return times.receivedAt - (finishedAt ?? times.startedAt) > seconds * 1_000;
}

function isSameClose(before: RunSummary, after: RunSummary): boolean {
  return before.contribution?.labels.status === after.contribution?.labels.status &&
    closeArrivalOf(before) === closeArrivalOf(after);
}

/** Returns whether signals of a run stay about the same. */
export function isSameSubject(before: RunSummary, after: RunSummary): boolean {
  const [old, now] = [subjectOf(before), subjectOf(after)];
  return old.agent === now.agent && old.customer === now.customer && old.feature === now.feature;
}
