/** Parameters of reads: an unknown one and an empty one are refused before anything is read (R11, R20). */
import { queryProblem } from "../../domain/core/query_names.ts";
import { fail } from "./answer.ts";
import type { Guard, Route } from "./context.ts";
import { queryOf } from "./query.ts";

const PAGE = ["limit", "cursor"];
const EVENTS_PAGE = ["events_limit", "events_cursor"];
const LABELS = ["agent", "customer_id", "feature"];
const MODEL = ["model", "provider"];
const DAYS = ["from", "to"];
const RUN_FILTERS = [
  ...LABELS,
  ...MODEL,
  "status",
  "kind",
  "has",
  "min_cost_usd",
  "q",
  ...DAYS,
];

/** Parameters that each read takes, by its path; a read that is not listed takes none. */
const QUERY_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["/v1/runs", [...RUN_FILTERS, ...PAGE]],
  ["/v1/runs.ndjson", RUN_FILTERS],
  ["/v1/runs.csv", RUN_FILTERS],
  ["/v1/runs/:id", [...EVENTS_PAGE, "wait", "timeout"]],
  ["/v1/runs/:id/cost", EVENTS_PAGE],
  ["/v1/keys", ["agent", ...PAGE]],
  ["/v1/audit", [...DAYS, ...PAGE]],
  ["/v1/teams", PAGE],
  ["/v1/rate-card", [...MODEL, "source", ...PAGE]],
  ["/v1/rate-card/match", [...MODEL, "at"]],
  ["/v1/agents", ["sort", ...PAGE, "archived"]],
  ["/v1/spend", [...DAYS, "group_by", ...LABELS, ...MODEL, "status"]],
  ["/v1/spend/unpriced", [...DAYS, ...MODEL]],
  ["/v1/usage", ["month"]],
  ["/v1/changes", ["after", "limit", "wait"]],
  ["/v1/refusals", ["hours"]],
  ["/v1/live", ["after", ...LABELS, "status", "kind"]],
]);

/**
 * Returns the parameters that a route takes, or null for a route that takes any: pings are calls of agents,
 * other writes have a body, and what lies outside of the API may be asked by machinery with its own words.
 */
export function queryNamesOf({ method, path }: Pick<Route, "method" | "path">) {
  if (method !== "GET" || !path.startsWith("/v1/") || path === "/v1/ping") return null;
  return QUERY_NAMES.get(path) ?? [];
}

/** Refuses parameters that a read does not take, and those without a value. */
export function requireQuery(names: readonly string[]): Guard {
  return (c) => {
    const problem = queryProblem(queryOf(c), names);
    return problem === null ? null : fail(c, problem);
  };
}
