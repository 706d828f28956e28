/** Endpoint of `GET /v1/runs`. */
import { listRuns, runPage } from "./run_list.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import {
  RUN_SEARCH_CHARS_MAX,
  RUNS_PER_PAGE,
  RUNS_WINDOW_HOURS,
} from "../../../domain/runs/list_query.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, dayOrInstant, limitOf, runStatus, slug } from "../../openapi/fields.ts";
import { ROW } from "./examples.ts";
import { runKind, runTrait } from "./run_json.ts";

const label = (whose: string) =>
  z.string().max(LABEL_CHARS_MAX).optional()
    .describe(`Runs ${whose}; \`(unattributed)\` for runs without one.`);

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
  kind: runKind.schema.optional().describe("Kind of the call that opened the run."),
  has: runTrait.schema.optional().describe(
    "`unpriced`: called a model without a price; `late`: received events after its close; " +
      "`orphan`: has no opening yet; `failed_check`: failed a check.",
  ),
  min_cost_usd: z.string().meta({ pattern: "^[0-9]{1,12}(\\.[0-9]{1,12})?$" }).optional()
    .describe("Runs that cost at least this amount."),
  q: z.string().min(1).max(RUN_SEARCH_CHARS_MAX).meta({ pattern: "^[0-9a-z_]+$" }).optional()
    .describe("A run's id, or part of one."),
  from: dayOrInstant.optional().describe("Earliest start, inclusive."),
  to: dayOrInstant.optional().describe(
    "Latest start, not before `from`; an instant is exclusive, a day is included completely.",
  ),
};

/** Endpoint of the run list. */
export const RUN_LISTS = endpoints("Runs", {
  listRuns: {
    route: "GET /v1/runs",
    access: teamKey("read"),
    handler: listRuns,
    summary: "List runs",
    description:
      "A run must match all filters. Partial ids and `(unattributed)` are not indexed: " +
      `without \`from\` and \`to\` they are searched in the last ${RUNS_WINDOW_HOURS} hours, which ` +
      "`window` reports. A page that scans a very large number of runs may end before it is full; " +
      "`searched_to` then reports how far it got. A run without an opening has no start and is " +
      "listed only by `has=orphan`.",
    query: {
      ...RUN_FILTERS,
      limit: limitOf(RUNS_PER_PAGE, "runs"),
      cursor: cursorOf("cursor"),
    },
    answers: ok("A page of runs.", runPage),
    example: {
      query: { agent: "researcher", status: "success", limit: "10" },
      answer: {
        runs: [ROW],
        cursor: null,
        window: { from: null, to: null, defaulted: false },
        searched_to: null,
      },
      needs: ["openRun", "appendEvents", "finishRun"],
    },
  },
});
