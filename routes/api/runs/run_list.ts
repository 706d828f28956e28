/** `GET /v1/runs`: the runs of a team, newest first, a page at a time. */
import { z } from "zod";
import type { RunId } from "../../../domain/core/ids.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import type { RunListPage, RunPosition, RunsQuery } from "../../../domain/runs/list.ts";
import {
  parseRunsQuery,
  RUN_IDS_MAX,
  RUN_SEARCH_CHARS_MAX,
  RUNS_PER_PAGE,
  RUNS_SINCE,
  RUNS_WINDOW_HOURS,
  type RunsCursor,
} from "../../../domain/runs/list_query.ts";
import { UNUSUAL_FIGURES } from "../../../domain/runs/list_filter.ts";
import { teamKey } from "../../http/access.ts";
import { decodeCursor, encodeCursor, queryOf } from "../../http/query.ts";
import { endpoints } from "../../openapi/describe.ts";
import { cursorOf, dayOrInstant, idOf, limitOf, runStatus, slug } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { returns } from "../answers.ts";
import { runKind, runRow, runTrait } from "./run_json.ts";

interface RunPage extends RunListPage {
  readonly query: RunsQuery;
  readonly cursor: string | null;
  readonly isWindowDefault: boolean;
}

const window = shape.object<RunPage>("RunWindow", {
  from: shape.instant.orNull(({ query }) => query.from),
  to: shape.instant.orNull(({ query }) => query.to, "Exclusive."),
  defaulted: shape.boolean("isWindowDefault", "True if the default window was applied."),
});

/** Response of `GET /v1/runs`. */
export const runListPage = shape.object<RunPage>("RunPage", {
  runs: shape.list(runRow)("rows", "Newest first, by start and then id."),
  cursor: shape.nextCursor("cursor"),
  window: window((page) => page, "Range of `started_at` that was searched; a null bound is open."),
  searched_to: shape.instant.orNull(
    "searchedTo",
    "Start time that the search reached, if the page ended before it was full.",
  ),
});

/** Encodes a position and the start of the default window, or null without one. */
export function runsCursorText({ at, run }: RunPosition, from: number | null): string {
  return encodeCursor(`${at} ${run} ${from ?? ""}`);
}

/** Decodes a cursor of {@link runsCursorText}; null when it is invalid. */
export function parseRunsCursor(cursor: string): RunsCursor | null {
  const match = /^(\d{1,16}) (run_(?:eu|us)_[0-9a-f]{32}) (\d{0,16})$/.exec(
    decodeCursor(cursor) ?? "",
  );
  const [, at, run, from] = match ?? [];
  if (at === undefined || run === undefined) return null;
  return { after: { at: Number(at), run: run as RunId }, from: from ? Number(from) : null };
}

const label = (whose: string) =>
  z.string().max(LABEL_CHARS_MAX).optional()
    .describe(`Runs ${whose}; \`(unattributed)\` for runs without one.`);

const unwanted = (what: string) =>
  z.string().max(LABEL_CHARS_MAX).optional().describe(`Runs without this ${what}.`);

const milliseconds = z.string().meta({ pattern: "^[0-9]{1,15}(\\.[0-9]{1,15})?$" }).optional();

const pair = z.string().meta({ pattern: "^[^=]+=" }).optional();

/** Filters of run lists, without pagination. */
export const RUN_FILTERS = {
  agent: slug().optional().describe("Runs of this agent."),
  customer_id: label("for this customer"),
  feature: label("for this feature"),
  model: z.string().max(LABEL_CHARS_MAX).optional()
    .describe("Runs that called this model at any provider."),
  provider: z.string().max(LABEL_CHARS_MAX).optional().describe(
    "Provider of that model; only with `model`.",
  ),
  status: runStatus.optional().describe("Runs of this status."),
  not_agent: unwanted("agent"),
  not_customer_id: unwanted("customer"),
  not_feature: unwanted("feature"),
  not_model: unwanted("model"),
  not_status: runStatus.optional().describe("Runs of another status."),
  kind: runKind.schema.optional().describe("Kind of the call that opened the run."),
  has: runTrait.schema.optional().describe(
    "`unpriced`: called a model without a price; `late`: received events after its close; " +
      "`orphan`: has no opening yet; `failed_check`: failed a check; `judged`: has a judge's score.",
  ),
  root: z.enum(["true", "false"]).meta({ id: "RootFilter" }).optional().describe(
    "`true`: runs without a parent, or whose parent is not stored.",
  ),
  unusual: z.enum(UNUSUAL_FIGURES).meta({ id: "UnusualFigure" }).optional().describe(
    "Runs that took (`slow`) or cost (`expensive`) at least twice the median of the agent's " +
      "latest 50 runs, and at least 1 s or $0.001.",
  ),
  min_cost_usd: z.string().meta({ pattern: "^[0-9]{1,12}(\\.[0-9]{1,12})?$" }).optional()
    .describe("Runs that cost at least this amount."),
  min_duration_ms: milliseconds.describe("Runs that took at least this many milliseconds."),
  max_duration_ms: milliseconds.describe("Runs that took at most this many milliseconds."),
  metadata: pair.describe("Runs with this label, as `key=value`."),
  not_metadata: pair.describe("Runs without this label, as `key=value`."),
  min_score: pair.describe(
    "Runs with a score of at least a value, as `name=0.5`; true counts as 1.",
  ),
  max_score: pair.describe("Runs with a score of at most a value, as `name=0.5`."),
  error: z.string().max(LABEL_CHARS_MAX).optional().describe(
    "Text in the reason of a run's failure: the note of its close, or `error` in its output.",
  ),
  text: z.string().max(LABEL_CHARS_MAX).optional().describe(
    "Text in the goal, the output or the reason of the failure; a run's id, or part of one.",
  ),
  run: idOf("run").optional().describe(
    `The run with this id; repeated, each of them, ${RUN_IDS_MAX} at most.`,
  ),
  q: z.string().min(1).max(RUN_SEARCH_CHARS_MAX).meta({ pattern: "^[0-9a-z_]+$" }).optional()
    .describe("A run's id, or part of one."),
  since: z.enum(RUNS_SINCE).meta({ id: "RunsPeriod" }).optional().describe(
    "Period up to now; `from` replaces it.",
  ),
  from: dayOrInstant.optional().describe("Earliest start, inclusive."),
  to: dayOrInstant.optional().describe(
    "Latest start, not before `from`; an instant is exclusive, a day is included completely.",
  ),
};

export const RUN_LISTS = endpoints("Runs", {
  listRuns: {
    route: "GET /v1/runs",
    access: teamKey("read"),
    ...returns("A page of runs.", runListPage, async (c, { runList, environment }, { team }) => {
      const request = parseRunsQuery(queryOf(c), environment.now(), parseRunsCursor);
      const { query, isWindowDefault, after, limit } = request;
      const page = await runList.page(team, query, after, limit);
      const windowStart = isWindowDefault ? query.from : null;
      const cursor = page.next && runsCursorText(page.next, windowStart);
      return { ...page, query, cursor, isWindowDefault };
    }),
    summary: "List runs",
    description: "A run must match all filters. Of several values of one label, such as " +
      "`status=failed&status=timeout`, it must have one; of several `not_…` it must have none. " +
      "Filters without an index read up to 20,000 runs and take up to 1 s. Partial ids and `(unattributed)` are not indexed: " +
      `without \`from\` and \`to\` they are searched in the last ${RUNS_WINDOW_HOURS} hours, which ` +
      "`window` reports. A page that scans a very large number of runs may end before it is full; " +
      "`searched_to` then reports how far it got. A run without an opening has no start and is " +
      "listed only by `has=orphan`.",
    query: { ...RUN_FILTERS, limit: limitOf(RUNS_PER_PAGE, "runs"), cursor: cursorOf("cursor") },
  },
});
