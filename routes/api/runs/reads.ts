/** `GET /v1/runs/{id}`, immediately or when the run is final, and `GET /v1/runs/{id}/cost`. */
import { z } from "zod";
import type { RunId } from "../../../domain/core/ids.ts";
import { EVENTS_PER_PAGE, FINAL_WAIT_SECONDS } from "../../../domain/core/limits.ts";
import { Query } from "../../../domain/core/query.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { assemble, isJudged, isProcessed, type RunRecord } from "../../../domain/runs/record.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import type { HandlerDeps } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { waitForChange } from "../../http/wait_for_change.ts";
import { endpoints, tagged } from "../../openapi/describe.ts";
import {
  cursorOf,
  idOf,
  ifNoneMatch,
  limitOf,
  matchStep,
  rateSource,
} from "../../openapi/fields.ts";
import { COMMON, eventsCursor, runAnswer, runKind, TOKENS } from "./run_json.ts";
import { answerPage, answerRun, parseEventsPage } from "./runs.ts";
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import {
  costByModel,
  explainCalls,
  type ExplainedCall,
  type ModelCost,
} from "../../../domain/runs/explain_cost.ts";
import * as shape from "../../openapi/wire.ts";

export const getRunCost = answerPage((id, page, { isFirst }) =>
  runCost.write({ ...assemble(id, page), page, calls: explainCalls(page, isFirst) })
);

const line = shape.object<CostLine>("PricedTokens", {
  kind: shape.oneOf("TokenKind", ["input", "cached_input", "cache_write", "output"])("kind"),
  tokens: shape.count("tokens"),
  usd_per_million: shape.wire(shape.dollars.schema)(({ rate }) => usdPerMillion(rate)),
  cost_usd: shape.dollars("cost"),
});

const pricingRow = shape.object<RateRow>("PricingRow", {
  id: shape.text("id"),
  source: shape.wire(rateSource)("source"),
  effective_from: shape.instant.orNull("from"),
});

const pricedCall = shape.object<ExplainedCall>("PricedCall", {
  event_id: shape.id("evt").orNull("eventId", "Null for the cost that a heartbeat reports."),
  ts: shape.instant("ts"),
  provider: shape.text.orNull("provider"),
  model: shape.text.orNull("model"),
  cost_usd: shape.dollars("cost"),
  stated: shape.boolean(
    "stated",
    "True if the client sent this cost, so that no rate was applied.",
  ),
  match: shape.wire(matchStep).orNull(
    ({ pricedBy }) => pricedBy?.match,
    "Lookup step that matched the row.",
  ),
  row: pricingRow.orNull(({ pricedBy }) => pricedBy?.row),
  batch_rates: shape.boolean(
    ({ pricedBy }) => pricedBy?.isBatch === true,
    "True if priced at the row's batch rates.",
  ),
  tier_above_input_tokens: shape.count.orNull("tierAboveInputTokens"),
  lines: shape.list(line)("lines", "Tokens times rate, for each kind with tokens."),
  unpriced: shape.boolean("unpriced"),
  flags: shape.list(
    shape.oneOf("CallFlag", [
      "cached_exceeds_input",
      "covered_by_stated_cost",
      "covered_by_tokens",
    ]),
  )("flags"),
});

const modelCost = shape.object<ModelCost>("ModelCost", {
  provider: shape.text.orNull("provider"),
  model: shape.text.orNull("model", "Null for cost that belongs to no model."),
  priced: shape.boolean(
    ({ priced }) => priced === true,
    "True if the rate card had a price or the client stated the cost.",
  ),
  llm_calls: shape.count("calls"),
  ...TOKENS,
  cost_usd: shape.dollars("cost"),
});

/** A run with one page of its calls. */
interface CostView extends RunRecord {
  readonly page: RunPage;
  readonly calls: readonly ExplainedCall[];
}

/** Response of `GET /v1/runs/{id}/cost`. */
export const runCost = shape.object<CostView>("RunCost", {
  id: COMMON.id,
  kind: runKind("kind"),
  cost_usd: shape.dollars(({ cost }) => cost.amount),
  cost: COMMON.cost,
  by_model: shape.list(modelCost)(
    ({ page }) => costByModel(page),
    "Totals of the complete run, on every page.",
  ),
  calls: shape.list(pricedCall)("calls", "Calls among the events of this page."),
  events_cursor: eventsCursor(({ page }) => page.next),
});

/** Returns whether a run has reached a state. True for an unknown run, which is answered without waiting. */
async function isReached({ runs }: HandlerDeps, team: Team, id: RunId, state: Wait["state"]) {
  const run = await runs.find(team, id);
  return run === null || (state === "judged" ? isJudged(run) : isProcessed(run));
}

/** States of a run to wait for. */
const WAITS = ["final", "judged"] as const;

/** A wait for a run. */
interface Wait {
  readonly state: typeof WAITS[number];
  readonly seconds: number;
}

/** Parses the wait for a run; null to answer immediately. */
function parseWait(text: string): Wait | null {
  const query = new Query(text);
  const wait = query.choice("wait", WAITS);
  const seconds = query.integer("timeout", { min: 0, ...FINAL_WAIT_SECONDS });
  return wait === undefined ? null : { state: wait, seconds };
}

const pathFields = { id: idOf("run").describe("The run's id.") };

const query = {
  events_limit: limitOf(EVENTS_PER_PAGE, "events"),
  events_cursor: cursorOf("events_cursor"),
};

const waiting = {
  wait: z.enum(WAITS).meta({ id: "RunWait" }).optional().describe(
    "Delays the response until the run is closed and fully processed; `judged` also until each " +
      "judge that applies has a result.",
  ),
  timeout: z.int().min(0).max(FINAL_WAIT_SECONDS.max).default(FINAL_WAIT_SECONDS.default)
    .describe("Seconds to wait at most; then the current record is returned."),
};

/** Endpoints of a run's record and of its cost. */
export const RUN_READS = endpoints("Runs", {
  getRun: {
    route: "GET /v1/runs/:id",
    access: teamKey("read"),
    handler: async (c, deps, { team }) => {
      const wait = parseWait(queryOf(c));
      if (wait === null) return await answerRun(c, deps);
      const id = parseRunId(c.req.param("id") ?? "");
      // An invalid request is refused without waiting.
      parseEventsPage(queryOf(c));
      const { state, seconds } = wait;
      const isDone = () => isReached(deps, team, id, state);
      if (await isDone()) return await answerRun(c, deps);
      return await deps.admission.park(c, seconds * 1_000, async (signal) => {
        const withJudges = state === "judged";
        const waited = { team: team.id, run: id, withJudges };
        await waitForChange(deps.changes, waited, signal, isDone);
        return await answerRun(c, deps);
      });
    },
    summary: "Read a run",
    description: "Returns the full record with one page of its events. An unknown id and another " +
      "team's both return 404.",
    pathFields,
    query: { ...query, ...waiting },
    headers: ifNoneMatch,
    answers: tagged("The current record.", runAnswer),
    errors: ["invalid_id", "unknown_region", "not_found"],
  },
  getRunCost: {
    route: "GET /v1/runs/:id/cost",
    access: teamKey("read"),
    handler: getRunCost,
    summary: "Explain a run's cost",
    description:
      "Returns the calls of one page of events, each with the rate card row that priced it, and " +
      "tokens times rate. The calls of all pages add up to `cost_usd`, unless some have expired.",
    pathFields,
    query,
    headers: ifNoneMatch,
    answers: tagged("The current cost.", runCost),
    errors: ["invalid_id", "unknown_region", "not_found"],
  },
});
