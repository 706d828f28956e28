/**
 * Judges a closed run by the checks of its team.
 *
 * @module
 */
import { appliesToAgent } from "../agents/agents.ts";
import type { RunId } from "../core/ids.ts";
import type { PayloadState } from "../runs/record.ts";
import type { FinishStatus } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";
import { CHECKS_PER_RUN_MAX, type CheckSettings, type CompiledCheck } from "./check.ts";
import { type FactName, type Facts, PAYLOAD_FACTS } from "./program.ts";
import type { CheckResult } from "../runs/check_result.ts";

/** A closed run to judge. */
export interface ClosedRun {
  /** The run. */
  readonly id: RunId;
  /** Its summary. */
  readonly summary: RunSummary;
  /** Retention state of its payload. */
  readonly payload: PayloadState;
  /** True if it has an output. */
  readonly hasOutput: boolean;
  /** True if its output was too large to be stored as sent. */
  readonly isOutputCut: boolean;
}

/** Facts that could not be read, and why: `too_many_events` or `too_many_children`. */
export type MissingFacts = ReadonlyMap<FactName, string>;

/** A check that may not be stored: a dry run needs no slug. */
export type JudgingCheck = Pick<CompiledCheck, "program" | "id" | "version"> & {
  readonly slug: string | null;
  readonly settings: CheckSettings;
};

/**
 * Returns the place of a run in the samples of a check, from 0 to 1: the first 8 bytes, big endian, of
 * the SHA-256 of slug, line feed and run, divided by 2^64.
 */
export type PlaceInSample = (slug: string, run: RunId) => number;

/**
 * Returns the checks that judge a run: at most {@link CHECKS_PER_RUN_MAX}, the first by slug. An open
 * run, and one whose opening has not arrived, is judged by none.
 *
 * @param checks enabled checks, by slug
 */
export function checksOf<Each extends JudgingCheck>(
  { id, summary }: Pick<ClosedRun, "id" | "summary">,
  checks: readonly Each[],
  place: PlaceInSample,
): readonly Each[] {
  if (!summary.seen.closing || summary.contribution === null) return [];
  const applying = checks.filter((check) => choosesRun(check, id, summary, place));
  return applying.length > CHECKS_PER_RUN_MAX ? applying.slice(0, CHECKS_PER_RUN_MAX) : applying;
}

/** Settings by which a check or a judge chooses runs (decision 60). */
export type RunChoice = Pick<
  CheckSettings,
  "agents" | "kinds" | "statuses" | "features" | "sample"
>;

/**
 * Returns whether a check or a judge applies to a run.
 *
 * @param object its settings; without a slug nothing is sampled
 */
export function choosesRun(
  { slug, settings }: { readonly slug: string | null; readonly settings: RunChoice },
  run: RunId,
  summary: RunSummary,
  place: PlaceInSample,
): boolean {
  const { agent = null, feature = null, status } = summary.contribution?.labels ?? {};
  return settings.kinds.includes(summary.listed.kind) &&
    settings.statuses.includes(status as FinishStatus) &&
    (settings.features.length === 0 || feature !== null && settings.features.includes(feature)) &&
    appliesToAgent(settings.agents, agent) &&
    (settings.sample === 1 || slug === null || place(slug, run) < settings.sample);
}

/** Returns the names that are needed to judge a run: not those of checks that are skipped. */
export function neededFacts(
  run: ClosedRun,
  checks: readonly JudgingCheck[],
): ReadonlySet<FactName> {
  const names = new Set<FactName>();
  for (const { program } of checks) {
    if (skipReason(run, program.names) !== null) continue;
    for (const name of program.names) names.add(name);
  }
  return names;
}

/**
 * Returns the result of one check.
 *
 * @param facts values of the names that it needs
 * @param missing names without a value
 * @param nowMs unix milliseconds
 */
export function judge(
  run: ClosedRun,
  { slug, id, version, settings: { severity }, program }: JudgingCheck,
  facts: Facts,
  missing: MissingFacts,
  nowMs: number,
): CheckResult {
  const verdict = undecided(run, program.names, missing) ?? program.judge(facts);
  const { status, reason } = verdict;
  // Retention removes the texts of stored results too, so a later judgement has none either.
  const { got, message } = run.payload === "whole" ? verdict : NO_TEXTS;
  const { revision } = run.summary;
  const check = slug ?? "";
  // One object of one shape: commits of many runs make thousands of them.
  const result = { check, id, version, severity, status, got, message, at: nowMs, revision };
  return reason === undefined ? result : { ...result, reason };
}

const NO_TEXTS = { got: null, message: null } as const;

/** Returns what a check says that cannot be decided; null if it can. */
function undecided(
  run: ClosedRun,
  names: ReadonlySet<FactName>,
  missing: MissingFacts,
): Pick<CheckResult, "status" | "got" | "message" | "reason"> | null {
  const skipped = skipReason(run, names);
  if (skipped !== null) {
    const message = skipped === "no_output"
      ? "The run has no output"
      : "Retention removed what the expression names";
    return { status: "skipped", got: null, message, reason: skipped };
  }
  if (run.isOutputCut && names.has("output")) {
    // What is missing could have decided otherwise.
    const message = "The output was too large to be stored as sent";
    return { status: "error", got: null, message, reason: "output_truncated" };
  }
  for (const name of names) {
    const reason = missing.get(name);
    if (reason === undefined) continue;
    const many = reason === "too_many_children" ? "descendants" : "events";
    const message = `The run has too many ${many} to read \`${name}\``;
    return { status: "error", got: null, message, reason };
  }
  return null;
}

function skipReason(
  { payload, hasOutput }: ClosedRun,
  names: ReadonlySet<FactName>,
): "payload_removed" | "no_output" | null {
  if (payload !== "whole" && PAYLOAD_FACTS.some((name) => names.has(name))) {
    return "payload_removed";
  }
  return !hasOutput && names.has("output") ? "no_output" : null;
}
