/**
 * Judges runs in the commit that summarizes them, if that costs little.
 *
 * @module
 */
import { factsAtOnce } from "../../domain/checks/facts.ts";
import { measure } from "../../domain/checks/language/sizes.ts";
import { checksOf, judge, type MissingFacts, neededFacts } from "../../domain/checks/judge.ts";
import type { CompiledCheck } from "../../domain/checks/check.ts";
import type { FactName } from "../../domain/checks/program.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { RunParts } from "../../domain/runs/run.ts";
import { isCostCurrent, type RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { readParts, type SummarizedHead } from "../runs/heads.ts";
import { getMany } from "../store.ts";
import { closedRunOf } from "./facts.ts";
import { placeInSample } from "./sample.ts";

/** Maximum steps of all checks of a run that is judged at once: about 200 microseconds. */
const STEPS_MAX = 500;

/** Names whose values a head in memory may lack. */
const LEFT_OUT = ["goal", "metadata", "output", "scores"] as const satisfies FactName[];

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
export function judgeAtOnce(
  run: SummarizedHead,
  after: RunSummary,
  checks: readonly CompiledCheck[],
  nowMs: number,
): Judgement | Promise<Judgement> {
  if (checks.length === 0) return NONE;
  const applying = checksOf({ id: run.id, summary: after }, checks, placeInSample);
  if (applying.length === 0) return NONE;
  const names = (name: FactName) => applying.some(({ program }) => program.names.has(name));
  if (isCostCurrent(run.summary, run.head) && !names("scores")) return KEPT;
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
  const [opening, closing] = await getMany(store, [
    keys.opening(team, id),
    keys.closing(team, id),
  ]);
  return await readParts(run, opening?.value, closing?.value);
}
