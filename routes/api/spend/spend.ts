/** `GET /v1/spend` and `GET /v1/spend/unpriced`, and the endpoint of `GET /v1/usage`. */
import type { AppDeps } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { orRefuse, type Parsed } from "../../../domain/core/errors.ts";
import { type ReadRows, spendOf } from "../../../domain/spend/spend.ts";
import {
  parseSpendQuery,
  parseUnpricedQuery,
  SPEND_DAYS_DEFAULT,
  SPEND_DAYS_MAX,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { type Unpriced, unpricedOf } from "../../../domain/spend/unpriced.ts";
import { answer } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { grouping, spendAnswer, unpricedAnswer } from "./spend_json.ts";
import { getUsage, usageAnswer } from "../teams/usage.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { endpoints, ok, tagged } from "../../openapi/describe.ts";
import { dayOrInstant, ifNoneMatch, month, runStatus, slug } from "../../openapi/fields.ts";

/** Returns models without a price, with estimates by the team's rate card. */
export async function unpricedModels(
  { spend, rateCards }: Pick<AppDeps, "spend" | "rateCards">,
  team: Team,
  query: SpendQuery,
): Promise<Parsed<Unpriced>> {
  const models = await rateCards.models(team);
  const read = rowsOf(spend, team, query);
  return await spend.ask(
    team,
    () => unpricedOf(query, read, ({ provider, model }) => models.nearest(provider, model)),
  );
}

/** Answers a spend query of a team. */
export function askSpend({ spend }: Pick<AppDeps, "spend">, team: Team, query: SpendQuery) {
  return spend.ask(team, () => spendOf(query, rowsOf(spend, team, query)));
}

/** Returns a reader of a team's spend rows in a query's range. */
export function rowsOf(spend: AppDeps["spend"], team: Team, { from, to }: SpendQuery): ReadRows {
  return (kind) => spend.rows(team, kind, from, to);
}

/** Parameters of a range of days. */
export const DAY_RANGE = {
  from: dayOrInstant.optional().describe(
    `First UTC day, or an instant on it; when absent, ${
      SPEND_DAYS_DEFAULT - 1
    } days before \`to\`.`,
  ),
  to: dayOrInstant.optional().describe(
    `Last UTC day, inclusive, not before \`from\`; today when absent. A range has at most ` +
      `${SPEND_DAYS_MAX} days.`,
  ),
};

const ofModels = {
  model: z.string().max(LABEL_CHARS_MAX).optional()
    .describe("Calls to this model at any provider."),
  provider: z.string().max(LABEL_CHARS_MAX).optional()
    .describe("Calls to models of this provider."),
};

const TOKENS = { llm_calls: 1, input_tokens: 900, output_tokens: 80, cached_input_tokens: 0 };
const NONE = { llm_calls: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 };
const SUMS = {
  runs: 1,
  successful_runs: 1,
  cost_usd: 0.0013,
  cost_per_successful_run: 0.0013,
  events: 1,
  ...TOKENS,
  unpriced: NONE,
};

/** Spend and usage endpoints. */
export const SPEND_ENDPOINTS = endpoints("Spend", {
  getSpend: {
    route: "GET /v1/spend",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const query = orRefuse(parseSpendQuery(queryOf(c), deps.environment.now()));
      const sums = orRefuse(await askSpend(deps, c.get("principal").team, query));
      return answer(c, 200, spendAnswer.write({ query, ...sums }));
    },
    summary: "Aggregate spend",
    description:
      "Aggregates the cost of runs by day, agent, model or another attribute. A run must " +
      "match all filters; `(unattributed)` matches runs without a value. The groups add up exactly " +
      "to the totals.",
    query: {
      ...DAY_RANGE,
      group_by: grouping.schema.default("day"),
      agent: slug().optional().describe("Runs of this agent."),
      customer_id: z.string().max(LABEL_CHARS_MAX).optional().describe("Runs for this customer."),
      feature: z.string().max(LABEL_CHARS_MAX).optional().describe("Runs for this feature."),
      ...ofModels,
      status: runStatus.optional().describe("Runs of this status."),
    },
    answers: ok("The current aggregates.", spendAnswer),
    example: {
      query: { group_by: "agent", from: "2026-11-01", to: "2026-11-30", customer_id: "acme" },
      answer: {
        from: "2026-11-01",
        to: "2026-11-30",
        group_by: "agent",
        filters: { customer_id: "acme" },
        totals: SUMS,
        groups: [{ key: "researcher", ...SUMS }],
      },
      needs: ["openRun", "appendEvents", "finishRun"],
    },
  },
  getUnpriced: {
    route: "GET /v1/spend/unpriced",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const query = orRefuse(parseUnpricedQuery(queryOf(c), deps.environment.now()));
      const models = orRefuse(await unpricedModels(deps, c.get("principal").team, query));
      return answer(c, 200, unpricedAnswer.write({ ...query, ...models }));
    },
    summary: "List models whose calls cost 0",
    description:
      "Models whose calls cost 0, those with the most tokens first. One without a price has an " +
      "estimated cost at the rates of the nearest priced model; estimates are not stored and not " +
      "included in any other total. Calls without token counts are listed apart, by their `reason`.",
    query: { ...DAY_RANGE, ...ofModels },
    answers: ok("The models.", unpricedAnswer),
    example: {
      query: { from: "2026-11-01", to: "2026-11-30" },
      answer: {
        from: "2026-11-01",
        to: "2026-11-30",
        models: [],
        models_left_out: 0,
        estimate_total_usd: 0,
      },
    },
  },
  getUsage: {
    route: "GET /v1/usage",
    access: teamKey("read"),
    handler: getUsage,
    summary: "Read monthly usage",
    description: "Returns how many of the plan's events the team has used. The quota is not " +
      "enforced: events beyond it are neither refused nor charged.",
    query: {
      month: month.optional().describe(
        "A month in UTC, not in the future; the current month when absent.",
      ),
    },
    headers: ifNoneMatch,
    answers: tagged("Usage of the month.", usageAnswer),
    example: {
      query: { month: "2026-11" },
      answer: {
        month: "2026-11",
        used: 3,
        included: 25_000_000,
        ratio: 1.2e-7,
        state: "normal",
        projected: 4,
        resets_at: "2026-12-01T00:00:00.000Z",
        notices: [],
        months: [{ month: "2026-11", used: 3, state: "normal" }],
      },
      needs: ["openRun", "appendEvents", "finishRun"],
    },
  },
});
