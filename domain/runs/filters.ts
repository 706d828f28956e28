/**
 * Label filters shared by run lists and spend queries.
 *
 * @module
 */
import { FINISH_STATUSES, type RunLabels, type RunStatus } from "./run.ts";
import { type Query, refuseParameter } from "../core/query.ts";
import { AGENT_CHARS_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { isText } from "../core/rules.ts";

/** Placeholder for an absent label in filters and responses. */
export const UNATTRIBUTED = "(unattributed)";

/** A label of a run. */
export type Label = keyof RunLabels;

/** Filters. Null selects runs without the label; an absent filter selects everything. */
export interface SpendFilters extends Partial<RunLabels> {
  /** Provider of the model. */
  readonly provider?: string | null;
  /** Model. */
  readonly model?: string;
}

const STATUSES: readonly RunStatus[] = ["running", ...FINISH_STATUSES];

/** The filters and their query parameters, in the order they are checked. */
export const FILTERS = [
  { parameter: "agent", filter: "agent" },
  { parameter: "customer_id", filter: "customer" },
  { parameter: "feature", filter: "feature" },
  { parameter: "model", filter: "model" },
  { parameter: "provider", filter: "provider" },
  { parameter: "status", filter: "status" },
] as const satisfies readonly { parameter: string; filter: keyof SpendFilters }[];

/** Name of a filter of {@link FILTERS}. */
export type FilterName = (typeof FILTERS)[number]["filter"];

/** Reads the supported filters present in a query, each with one value. */
export function readFilters(
  query: Query,
  supported: readonly (typeof FILTERS[number])[],
): SpendFilters {
  const filters: Partial<Record<FilterName, string | null>> = {};
  for (const filter of supported) {
    const [first] = readValues(query, filter);
    if (first !== undefined) filters[filter.filter] = first;
  }
  // The status was checked; the record's type cannot express it.
  return filters as SpendFilters;
}

/**
 * Reads all values of a filter.
 *
 * @param name name of the parameter, if it differs from the filter's
 */
export function readValues(
  query: Query,
  { parameter, filter }: typeof FILTERS[number],
  name: string = parameter,
): readonly (string | null)[] {
  return query.texts(name).map((value) => {
    if (filter === "status") query.choice(name, STATUSES, value);
    const charsMax = filter === "agent" ? AGENT_CHARS_MAX : LABEL_CHARS_MAX;
    if (!isText(value, charsMax)) {
      const message = `Parameter "${name}" must have at most ${charsMax} characters`;
      return refuseParameter(name, message);
    }
    if (filter === "model" && value === UNATTRIBUTED) {
      const message = `Parameter "${name}" must be a model name: usage of no model is ` +
        `the group "${UNATTRIBUTED}" of group_by=model`;
      return refuseParameter(name, message);
    }
    return labelOrNull(value);
  });
}

/**
 * Returns null for a label whose text is {@link UNATTRIBUTED}, because readers could not tell it
 * from an absent one.
 */
export function labelOrNull(label: string | null): string | null {
  return label === UNATTRIBUTED ? null : label;
}
