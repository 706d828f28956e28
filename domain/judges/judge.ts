/**
 * Judges: models that score sampled runs (decisions 93 to 100).
 *
 * @module
 */
import { choosesRun, type PlaceInSample, type RunChoice } from "../checks/apply_checks.ts";
import type { ConfigObject } from "../config/objects.ts";
import { isJudgeAgent, JUDGE_AGENT_PREFIX } from "../agents/agents.ts";
import type { RunId } from "../core/ids.ts";
import { closeArrivalOf, type RunSummary } from "../runs/summary.ts";

/** Value that a judge gives: a number between two bounds, or true or false. */
export type JudgeScale =
  | { readonly type: "score"; readonly min: number; readonly max: number }
  | { readonly type: "boolean" };

/** Settings of a judge. */
export interface JudgeSettings extends RunChoice {
  /** Name of the connection to the model; see `RUNLEDGER_LLM`. */
  readonly connection: string;
  /** Model, as the connection names it. */
  readonly model: string;
  /** Instructions, with variables such as `{{output}}`. */
  readonly rubric: string;
  /** Value that the model gives. */
  readonly result: JudgeScale;
  /** Least score of a run that passes, 0 to 1. */
  readonly passAt: number;
  /** Maximum US dollars that it may spend on a UTC day. */
  readonly dailyUsd: number;
  /** Maximum output tokens of a call. */
  readonly maxOutputTokens: number;
  /** False to judge nothing. */
  readonly enabled: boolean;
  /** Words about it; null for none. */
  readonly description: string | null;
}

/** Maximum judges of a team. */
export const JUDGES_MAX = 20;

/** A judge. */
export type Judge = ConfigObject<JudgeSettings>;

/** Time after an idle close in which the run may go on, before it is judged, milliseconds. */
const IDLE_WAIT_MS = 3_600_000;

/** Age of a run at the arrival of its close beyond which it is an import, milliseconds. */
const IMPORT_MS = 86_400_000;

/** A judge that applies to a run. */
export interface DueJudge {
  /** The judge. */
  readonly judge: Judge;
  /** Time from which it may judge the run, unix milliseconds. */
  readonly at: number;
}

/**
 * Returns the judges that apply to a run: those whose settings it fits and that had these settings
 * when its close arrived (decision 48). None judges the call of a judge, an open run, or a run that
 * ended a day before it arrived.
 *
 * @param judges enabled judges, by slug
 * @param place place of a run in the samples of a judge
 */
export function judgesOf(
  { id, summary }: { readonly id: RunId; readonly summary: RunSummary },
  judges: readonly Judge[],
  place: PlaceInSample,
): readonly DueJudge[] {
  const { seen, contribution, shown } = summary;
  if (judges.length === 0 || !seen.closing || contribution === null) return [];
  const closedAt = closeArrivalOf(summary);
  if ((shown.finishedAt ?? closedAt) < closedAt - IMPORT_MS) return [];
  if (isJudgeAgent(contribution.labels.agent)) return [];
  const at = seen.closedBy === "idle" ? closedAt + IDLE_WAIT_MS : closedAt;
  return judges.filter((judge) =>
    judge.updatedAt <= closedAt && choosesRun(judge, id, summary, place)
  )
    .map((judge) => ({ judge, at }));
}

/** Returns whether the text that a judge sends changes with added scores. */
export function namesScores({ settings: { rubric } }: Judge): boolean {
  return /\{\{\s*scores\b/.test(rubric);
}

/** Returns the agent under which the calls of a judge are in the ledger; also the name of its score. */
export function judgeAgent(slug: string): string {
  return `${JUDGE_AGENT_PREFIX}${slug}`;
}
