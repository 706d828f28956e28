/** `GET /v1/spend` and `GET /v1/spend/unpriced`, and the endpoint of `GET /v1/usage`. */
import type { AppDeps } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import {
  costPerSuccess,
  type ReadRows,
  type Spend,
  type SpendGroup,
  spendOf,
} from "../../../domain/spend/spend.ts";
import {
  GROUPINGS,
  parseSpendQuery,
  parseUnpricedQuery,
  SPEND_DAYS_DEFAULT,
  SPEND_DAYS_MAX,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import {
  type EstimatedModel,
  type Unpriced,
  UNPRICED_MODELS_MAX,
  UNPRICED_REASONS,
  unpricedOf,
} from "../../../domain/spend/unpriced.ts";
import { answer } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { getUsage, usageAnswer } from "../teams/teams.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { endpoints, ok, tagged } from "../../openapi/describe.ts";
import { dayOrInstant, ifNoneMatch, month, runStatus, slug } from "../../openapi/fields.ts";
import type { Measures } from "../../../domain/runs/summary.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import * as shape from "../../openapi/wire.ts";
import { TOKENS } from "../runs/run_json.ts";

/** Attribute to group by. */
export const grouping = shape.oneOfValue("SpendGrouping", GROUPINGS);

const unpricedSums = shape.objectValue<Measures>("UnpricedSums", {
  llm_calls: shape.countValue("unpricedCalls"),
  input_tokens: shape.countValue("unpricedInputTokens"),
  output_tokens: shape.countValue("unpricedOutputTokens"),
  cached_input_tokens: shape.countValue("unpricedCachedInputTokens"),
});

/** Aggregates; counts of runs are null where they are unknown. */
interface Sums extends Measures {
  readonly runsKnown: boolean;
}

const SUMS: shape.WireFields<Sums> = {
  runs: shape.countValue.orNull(
    ({ runs, runsKnown }) => runsKnown ? runs : null,
    "Null where unknown, as in the group `(unattributed)` by model.",
  ),
  successful_runs: shape.countValue.orNull(({ succeeded, runsKnown }) =>
    runsKnown ? succeeded : null
  ),
  cost_usd: shape.dollarsValue("cost"),
  cost_per_successful_run: shape.dollarsValue.orNull((sums) =>
    sums.runsKnown ? costPerSuccess(sums) : null
  ),
  events: shape.countValue("events"),
  llm_calls: shape.countValue("calls"),
  ...TOKENS,
  unpriced: unpricedSums((sums) => sums, "Calls and tokens without a price."),
};

/** A group, with its model if the query groups by model. */
type Group = Sums & Pick<SpendGroup, "key" | "folded"> & { readonly model?: SpendGroup["model"] };

const spendGroup = shape.objectValue<Group>("SpendGroup", {
  key: shape.textValue.orNull(
    "key",
    "Value of the group; `(unattributed)` for runs without one, `(other)` for the rest.",
  ),
  provider: nameOf("provider"),
  model: nameOf("model"),
  folded: shape.countValue.optional(
    ({ folded }) => folded ?? undefined,
    "Number of groups combined in `(other)`; otherwise absent.",
  ),
  ...SUMS,
});

function nameOf(part: "provider" | "model") {
  return shape.wire(z.string().nullable()).optional<Group>(
    ({ model }) => model === undefined ? undefined : model?.[part] ?? null,
    "Only when grouped by model.",
  );
}

const filters = shape.wire<SpendQuery["filters"]>(
  z.record(z.string(), z.string())
    .meta({ id: "SpendFilters", description: "Filters of the query, by parameter." }),
  (filters) => {
    const active = FILTERS.filter(({ filter }) => filters[filter] !== undefined);
    return rawOf(Object.fromEntries(
      active.map(({ parameter, filter }) => [parameter, filters[filter] ?? UNATTRIBUTED]),
    ));
  },
);

const spendAnswer = shape.objectValue<Spend & { readonly query: SpendQuery }>("Spend", {
  from: shape.dayValue(({ query }) => query.from),
  to: shape.dayValue(({ query }) => query.to),
  group_by: grouping(({ query }) => query.groupBy),
  filters: filters(({ query }) => query.filters),
  totals: shape.objectValue("SpendSums", SUMS)(({ totals }) => ({ ...totals, runsKnown: true })),
  groups: shape.listValue(spendGroup)(({ query, groups }) =>
    groups.map(({ key, model, folded, measures, runsKnown }) => ({
      ...measures,
      key,
      folded,
      runsKnown,
      ...query.groupBy === "model" ? { model } : {},
    }))
  ),
});

const source = shape.objectValue<NonNullable<EstimatedModel["estimate"]>["row"]>("EstimateSource", {
  provider: shape.textValue.orNull("provider"),
  model: shape.textValue("model"),
  row: shape.textValue("id"),
}, "The priced model and its row of the rate card.");

const estimate = shape.objectValue<NonNullable<EstimatedModel["estimate"]>>("CostEstimate", {
  cost_usd: shape.dollarsValue("cost"),
  priced_as: source("row"),
  is_estimate: shape.wire(z.literal(true))(() => true),
});

const unpricedModel = shape.objectValue<EstimatedModel>("UnpricedModel", {
  provider: shape.textValue.orNull(({ name }) => name.provider),
  model: shape.textValue(({ name }) => name.model),
  reason: shape.oneOfValue("UnpricedReason", UNPRICED_REASONS)(
    "reason",
    "`no_price`: the rate card has no price; `no_tokens`: the calls have no token counts.",
  ),
  llm_calls: shape.countValue("calls"),
  ...TOKENS,
  first_seen: shape.dayValue("firstSeen", "First day within the range."),
  last_seen: shape.dayValue("lastSeen", "Last day within the range."),
  estimate: estimate.orNull("estimate", "Estimated cost at the rates of the nearest priced model."),
});

const unpricedList = shape.listValue(unpricedModel);

/** The models without a price. */
const unpricedAnswer = shape.objectValue<SpendQuery & Unpriced>("UnpricedModels", {
  from: shape.dayValue("from"),
  to: shape.dayValue("to"),
  models: shape.wire(z.array(unpricedModel.schema).max(UNPRICED_MODELS_MAX), unpricedList.write)(
    "models",
  ),
  models_left_out: shape.countValue("leftOut"),
  estimate_total_usd: shape.dollarsValue("estimateTotal"),
});

/** Returns models without a price, with estimates by the team's rate card. */
export async function unpricedModels(
  { spend, rateCards }: Pick<AppDeps, "spend" | "rateCards">,
  team: Team,
  query: SpendQuery,
): Promise<Unpriced> {
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

/** Spend and usage endpoints. */
export const SPEND_ENDPOINTS = endpoints("Spend", {
  getSpend: {
    route: "GET /v1/spend",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const query = parseSpendQuery(queryOf(c), deps.environment.now());
      const sums = await askSpend(deps, c.get("principal").team, query);
      return answer(c, 200, spendAnswer.write({ query, ...sums }));
    },
    summary: "Aggregate spend",
    description: "Aggregates the cost of runs by day, agent, model or another attribute. A run " +
      "must match all filters; `(unattributed)` matches runs without a value. The groups add up " +
      "exactly to the totals.",
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
  },
  getUnpriced: {
    route: "GET /v1/spend/unpriced",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const query = parseUnpricedQuery(queryOf(c), deps.environment.now());
      const models = await unpricedModels(deps, c.get("principal").team, query);
      return answer(c, 200, unpricedAnswer.write({ ...query, ...models }));
    },
    summary: "List models whose calls cost 0",
    description:
      "Models whose calls cost 0, those with the most tokens first. One without a price has an " +
      "estimated cost at the rates of the nearest priced model; estimates are not stored and not " +
      "included in any other total. Calls without token counts are listed apart, by their `reason`.",
    query: { ...DAY_RANGE, ...ofModels },
    answers: ok("The models.", unpricedAnswer),
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
  },
});
