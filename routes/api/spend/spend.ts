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
import { queryOf } from "../../http/query.ts";
import { returns } from "../answers.ts";
import { getUsage, usageAnswer } from "../teams/teams.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { endpoints, tagged } from "../../openapi/describe.ts";
import { dayOrInstant, ifNoneMatch, month, runStatus, slug } from "../../openapi/fields.ts";
import type { Measures } from "../../../domain/runs/summary.ts";
import { FILTERS, UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import * as shape from "../../openapi/wire.ts";
import { TOKENS } from "../runs/run_json.ts";

/** Attribute to group by. */
export const grouping = shape.oneOf("SpendGrouping", GROUPINGS);

const unpricedSums = shape.object<Measures>("UnpricedSums", {
  llm_calls: shape.count("unpricedCalls"),
  input_tokens: shape.count("unpricedInputTokens"),
  output_tokens: shape.count("unpricedOutputTokens"),
  cached_input_tokens: shape.count("unpricedCachedInputTokens"),
});

/** Aggregates; counts of runs are null where they are unknown. */
interface Sums extends Measures {
  readonly runsKnown: boolean;
}

const SUMS: shape.WireFields<Sums> = {
  runs: shape.count.orNull(
    ({ runs, runsKnown }) => runsKnown ? runs : null,
    "Null where unknown, as in the group `(unattributed)` by model.",
  ),
  successful_runs: shape.count.orNull(({ succeeded, runsKnown }) => runsKnown ? succeeded : null),
  cost_usd: shape.dollars("cost"),
  cost_per_successful_run: shape.dollars.orNull((sums) =>
    sums.runsKnown ? costPerSuccess(sums) : null
  ),
  events: shape.count("events"),
  llm_calls: shape.count("calls"),
  ...TOKENS,
  unpriced: unpricedSums((sums) => sums, "Calls and tokens without a price."),
};

/** A group, with its model if the query groups by model. */
type Group = Sums & Pick<SpendGroup, "key" | "folded"> & { readonly model?: SpendGroup["model"] };

const spendGroup = shape.object<Group>("SpendGroup", {
  key: shape.text.orNull(
    "key",
    "Value of the group; `(unattributed)` for runs without one, `(other)` for the rest.",
  ),
  provider: nameOf("provider"),
  model: nameOf("model"),
  folded: shape.count.optional(
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

const spendAnswer = shape.object<Spend & { readonly query: SpendQuery }>("Spend", {
  from: shape.day(({ query }) => query.from),
  to: shape.day(({ query }) => query.to),
  group_by: grouping(({ query }) => query.groupBy),
  filters: filters(({ query }) => query.filters),
  totals: shape.object("SpendSums", SUMS)(({ totals }) => ({ ...totals, runsKnown: true })),
  groups: shape.list(spendGroup)(({ query, groups }) =>
    groups.map(({ key, model, folded, measures, runsKnown }) => ({
      ...measures,
      key,
      folded,
      runsKnown,
      ...query.groupBy === "model" ? { model } : {},
    }))
  ),
});

const source = shape.object<NonNullable<EstimatedModel["estimate"]>["row"]>("EstimateSource", {
  provider: shape.text.orNull("provider"),
  model: shape.text("model"),
  row: shape.text("id"),
}, "The priced model and its row of the rate card.");

const estimate = shape.object<NonNullable<EstimatedModel["estimate"]>>("CostEstimate", {
  cost_usd: shape.dollars("cost"),
  priced_as: source("row"),
  is_estimate: shape.wire(z.literal(true))(() => true),
});

const unpricedModel = shape.object<EstimatedModel>("UnpricedModel", {
  provider: shape.text.orNull(({ name }) => name.provider),
  model: shape.text(({ name }) => name.model),
  reason: shape.oneOf("UnpricedReason", UNPRICED_REASONS)(
    "reason",
    "`no_price`: the rate card has no price; `no_tokens`: the calls have no token counts.",
  ),
  llm_calls: shape.count("calls"),
  ...TOKENS,
  first_seen: shape.day("firstSeen", "First day within the range."),
  last_seen: shape.day("lastSeen", "Last day within the range."),
  estimate: estimate.orNull("estimate", "Estimated cost at the rates of the nearest priced model."),
});

const unpricedList = shape.list(unpricedModel);

/** The models without a price. */
const unpricedAnswer = shape.object<SpendQuery & Unpriced>("UnpricedModels", {
  from: shape.day("from"),
  to: shape.day("to"),
  models: shape.wire(z.array(unpricedModel.schema).max(UNPRICED_MODELS_MAX), unpricedList.write)(
    "models",
  ),
  models_left_out: shape.count("leftOut"),
  estimate_total_usd: shape.dollars("estimateTotal"),
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
    ...returns("The current aggregates.", spendAnswer, async (c, deps, { team }) => {
      const query = parseSpendQuery(queryOf(c), deps.environment.now());
      return { query, ...await askSpend(deps, team, query) };
    }),
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
  },
  getUnpriced: {
    route: "GET /v1/spend/unpriced",
    access: teamKey("read"),
    ...returns("The models.", unpricedAnswer, async (c, deps, { team }) => {
      const query = parseUnpricedQuery(queryOf(c), deps.environment.now());
      return { ...query, ...await unpricedModels(deps, team, query) };
    }),
    summary: "List models whose calls cost 0",
    description:
      "Models whose calls cost 0, those with the most tokens first. One without a price has an " +
      "estimated cost at the rates of the nearest priced model; estimates are not stored and not " +
      "included in any other total. Calls without token counts are listed apart, by their `reason`.",
    query: { ...DAY_RANGE, ...ofModels },
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
