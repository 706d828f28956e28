/**
 * Judges runs: at once with their cost, or later, if facts must be read or checks take long.
 *
 * @module
 */
import type { CompiledCheck } from "../../domain/checks/check.ts";
import {
  checksOf,
  judge,
  type MissingFacts,
  neededFacts,
  type PlaceInSample,
} from "../../domain/checks/apply_checks.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { Work } from "../../domain/work/work.ts";
import { isCostCurrent, isCurrent, type RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { workKey } from "../work/store.ts";
import { hasSpanTexts, readParts, type RunUpdate, type SummarizedHead } from "../runs/heads.ts";
import { withTexts } from "../runs/texts.ts";
import { closedRunOf, readFacts, type RunToJudge } from "./read_facts.ts";
import { factsAtOnce } from "../../domain/checks/facts.ts";
import { measure } from "../../domain/checks/language/sizes.ts";
import type { FactName } from "../../domain/checks/program.ts";
import type { RunParts } from "../../domain/runs/run.ts";
import { getMany } from "../store.ts";
import { createHash } from "node:crypto";

/** Configuration of a team, as far as judging needs it. */
interface TeamChecks {
  /** Enabled checks, by slug. */
  readonly checks: readonly CompiledCheck[];
}

/** Changes runs; see `TeamCommit`. */
export interface RunChanges {
  /**
   * Changes runs as planned.
   *
   * @param plan called again after a conflict with another process; null for no change
   */
  change(
    team: TeamId,
    ids: readonly RunId[],
    plan: (run: SummarizedHead, config: TeamChecks) => RunUpdate | null,
  ): Promise<void>;
}

/** Dependencies of judging. */
export interface JudgeDeps {
  readonly changes: RunChanges;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** Judges a run that is due; it may be called again for the same run. */
export type JudgeLater = (row: Work) => Promise<void>;

/** Creates the function that judges a run which awaits it: a projection judges the others. */
export function createJudgeLater(deps: JudgeDeps): JudgeLater {
  return (row) => untilCommitted("judge a run", () => judgeRun(deps, row));
}

/** A run, and the checks that judge it. */
interface JudgingRun {
  readonly run: RunToJudge;
  readonly checks: readonly CompiledCheck[];
}

/** Judges a run as it is now; `LOST` if it changed meanwhile. */
async function judgeRun(deps: JudgeDeps, row: Work): Promise<void | typeof LOST> {
  const judging = await readJudging(deps, row);
  if (judging === null) return;
  const results = judging.checks.length === 0 ? null : await resultsOf(deps, judging);
  let isSame = true;
  const [team, id] = [row.team, row.name as RunId];
  await deps.changes.change(team, [id], (run) => {
    // Each other change of a run, also of its payload, stores its summary again.
    isSame = isJudgeable(run) && versionOf(run) === versionOf(judging.run);
    if (!isSame || run.summary === null) return null;
    const { awaitsChecks: _, ...after } = run.summary;
    const rows = { sets: [], deletes: [workKey(row), keys.runFailure(team, id)] };
    return { run, before: run.summary, after, judged: results, rows };
  });
  if (!isSame) return LOST;
}

/**
 * Reads a run and its checks in turn with its changes, so that they belong together; null if there is
 * nothing to judge: then the next projection decides again.
 */
async function readJudging(
  { changes }: JudgeDeps,
  { team, name }: Work,
): Promise<JudgingRun | null> {
  let judging: JudgingRun | null = null;
  await changes.change(team, [name as RunId], (run, { checks }) => {
    judging = isJudgeable(run) ? { run, checks: checksOf(run, checks, placeInSample) } : null;
    return null;
  });
  return judging;
}

function versionOf(run: SummarizedHead): string | null {
  return run.check("summary").versionstamp;
}

/**
 * Returns whether a run awaits its checks, and its summary includes all its parts. Otherwise its
 * projection is pending, or fails.
 */
function isJudgeable(run: SummarizedHead): run is RunToJudge {
  return run.summary?.awaitsChecks === true && isCurrent(run.summary, run.head);
}

/** Judges a run by each of its checks. After each, other work gets at least the time that it took. */
async function resultsOf(
  { now }: JudgeDeps,
  { run: judged, checks }: JudgingRun,
): Promise<readonly CheckResult[]> {
  const run = await withTexts(judged);
  const closed = closedRunOf(run);
  const { facts, missing } = await readFacts(run, neededFacts(closed, checks));
  const results: CheckResult[] = [];
  for (const check of checks) {
    const startMs = performance.now();
    results.push(judge(closed, check, facts, missing, now()));
    const tookMs = performance.now() - startMs;
    await new Promise((resolve) => setTimeout(resolve, tookMs));
  }
  return results;
}

/** Maximum steps of all checks of a run that is judged at once: about 200 microseconds. */
const STEPS_MAX = 500;

/** Names whose values a head in memory may lack. */
const LEFT_OUT = ["goal", "metadata", "output", "scores"] as const satisfies FactName[];

/** Names whose values may be in the events of a trace. */
const SPAN_TEXTS = ["goal", "output"] as const satisfies FactName[];

const NOTHING_MISSING: MissingFacts = new Map();

/**
 * The way a run is judged: `none`, no check applies; `kept`, only scores were added, which no check
 * names; `judged`, at once; `later`, after it.
 */
export type Judgement =
  | { readonly kind: "none" | "kept" | "later" }
  | { readonly kind: "judged"; readonly results: readonly CheckResult[] };

const NONE: Judgement = { kind: "none" };
const KEPT: Judgement = { kind: "kept" };
const LATER: Judgement = { kind: "later" };

/**
 * Judges a run, unless that must be done later.
 *
 * @param after its current summary
 * @param checks enabled checks of its team
 * @param nowMs unix milliseconds
 * @returns a promise only if parts of the run must be read
 */
export function judgeInCommit(
  run: SummarizedHead,
  after: RunSummary,
  checks: readonly CompiledCheck[],
  nowMs: number,
): Judgement | Promise<Judgement> {
  const applying = checksOf({ id: run.id, summary: after }, checks, placeInSample);
  if (applying.length === 0) return NONE;
  const names = (name: FactName) => applying.some(({ program }) => program.names.has(name));
  if (isCostCurrent(run.summary, run.head) && !names("scores")) return KEPT;
  if (hasSpanTexts(run) && SPAN_TEXTS.some(names)) return LATER;
  const judgeBy = (parts: RunParts) => judgeParts(run, parts, after, applying, nowMs);
  const isPartial = run.recent?.isStripped === true && LEFT_OUT.some(names);
  return isPartial ? partsOf(run).then(judgeBy) : judgeBy(run.head.parts);
}

function judgeParts(
  head: SummarizedHead,
  parts: RunParts,
  summary: RunSummary,
  checks: readonly CompiledCheck[],
  nowMs: number,
): Judgement {
  const whole = { ...head, head: { ...head.head, parts }, summary };
  const run = closedRunOf(whole);
  const facts = factsAtOnce(whole, neededFacts(run, checks));
  if (facts === null) return LATER;
  const sizes = measure(facts);
  let steps = 0;
  for (const { program } of checks) {
    // A check that is skipped names a fact that is not needed.
    if (program.names.values().every((name) => name in facts)) steps += program.stepsFor(sizes);
    if (steps > STEPS_MAX) return LATER;
  }
  const results = checks.map((check) => judge(run, check, facts, NOTHING_MISSING, nowMs));
  return { kind: "judged", results };
}

/** Reads the opening and the close of a run whose head in memory lacks texts. */
async function partsOf(run: SummarizedHead): Promise<RunParts> {
  const { store, team, id } = run;
  const [opening, closing] = await getMany(store, [keys.opening(team, id), keys.closing(team, id)]);
  return await readParts(run, opening?.value, closing?.value);
}

/** Returns the place of a run in the samples of a check. */
export const placeInSample: PlaceInSample = (slug, run) => {
  const hash = createHash("sha256").update(`${slug}\n${run}`).digest();
  return Number(hash.readBigUInt64BE()) / 2 ** 64;
};
