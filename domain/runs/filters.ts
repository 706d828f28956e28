/**
 * Filters by label, which lists of runs and spend have in common.
 *
 * @module
 */
import type { RunLabels } from "./contribution.ts";
import { FINISH_STATUSES, type RunStatus } from "./run.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { type Parameters, parseChoice } from "../core/query.ts";
import { AGENT_CHARS_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { isText } from "../core/rules.ts";

/** What stands for a label that a run does not have, in filters and in answers. */
export const UNATTRIBUTED = "(unattributed)";

/** A label of a run. */
export type Label = keyof RunLabels;

/** What to look at alone; null is what has no such label, absent is everything. */
export interface SpendFilters {
  /** Agent's slug. */
  readonly agent?: string | null;
  /** Customer. */
  readonly customer?: string | null;
  /** Feature. */
  readonly feature?: string | null;
  /** Status. */
  readonly status?: RunStatus;
  /** Provider of the model. */
  readonly provider?: string | null;
  /** Model. */
  readonly model?: string;
}

const STATUSES: readonly RunStatus[] = ["running", ...FINISH_STATUSES];

/** The filters by the names of their parameters, in the order they are checked. */
export const FILTERS = [
  { parameter: "agent", filter: "agent" },
  { parameter: "customer_id", filter: "customer" },
  { parameter: "feature", filter: "feature" },
  { parameter: "model", filter: "model" },
  { parameter: "provider", filter: "provider" },
  { parameter: "status", filter: "status" },
] as const satisfies readonly { parameter: string; filter: keyof SpendFilters }[];

/** Reads those filters that are asked for and known. */
export function parseFilters(
  parameters: Parameters,
  known: readonly (typeof FILTERS[number])[],
): Parsed<SpendFilters> {
  const filters: Partial<Record<keyof SpendFilters, string | null>> = {};
  for (const { parameter, filter } of known) {
    const sent = parameters.get(parameter);
    if (sent === undefined) continue;
    if (filter === "status") {
      const status = parseChoice(parameters, parameter, STATUSES);
      if (!status.ok) return status;
    }
    const charsMax = filter === "agent" ? AGENT_CHARS_MAX : LABEL_CHARS_MAX;
    if (!isText(sent, charsMax)) {
      const message = `Parameter "${parameter}" must have at most ${charsMax} characters`;
      return refuse("invalid_field", message, parameter);
    }
    if (filter === "model" && sent === UNATTRIBUTED) {
      const message = `Parameter "model" must be a model's name: what belongs to no model is ` +
        `the group "${UNATTRIBUTED}" of group_by=model`;
      return refuse("invalid_field", message, parameter);
    }
    filters[filter] = labelOrNull(sent);
  }
  // The status was looked up above; the record cannot say so.
  return { ok: true, value: filters as SpendFilters };
}

/** A label sent as the very text that stands for none is none: readers could not tell them apart. */
export function labelOrNull(label: string | null): string | null {
  return label === UNATTRIBUTED ? null : label;
}
