/**
 * Checks: expressions that judge closed runs (decisions 60 to 68).
 *
 * @module
 */
import type { ConfigObject } from "../config/objects.ts";
import type { FinishStatus } from "../runs/run.ts";
import type { CheckSeverity } from "../runs/check_result.ts";
import type { RunKind } from "../runs/flags.ts";
import type { Program } from "./program.ts";

/** Settings of a check. */
export interface CheckSettings {
  /** Expression that is true for a good run; see `program.ts`. */
  readonly expression: string;
  /** Slugs of agents; `*` at the end matches any rest, and `*` alone all. */
  readonly agents: readonly string[];
  /** Kinds of runs. */
  readonly kinds: readonly RunKind[];
  /** Statuses of runs. */
  readonly statuses: readonly FinishStatus[];
  /** Features; empty for all. */
  readonly features: readonly string[];
  /** Weight of a failure. */
  readonly severity: CheckSeverity;
  /** Share of the runs that are judged, above 0 and up to 1. */
  readonly sample: number;
  /** False to judge nothing. */
  readonly enabled: boolean;
  /** Words about it; null for none. */
  readonly description: string | null;
}

/** A check. */
export type Check = ConfigObject<CheckSettings>;

/** A check, ready to judge. */
export interface CompiledCheck extends Omit<Check, "id"> {
  /** Identifier, `chk_eu_…`. */
  readonly id: string;
  /** Its compiled expression. */
  readonly program: Program;
}

/** Maximum checks that judge one run: the first by slug. */
export const CHECKS_PER_RUN_MAX = 50;

/** Maximum characters of an expression. */
export const EXPRESSION_CHARS_MAX = 1_000;
