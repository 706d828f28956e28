/** Endpoints of `/v1/rate-card`. */
import { existing } from "../../../domain/core/errors.ts";
import { z } from "zod";
import { instantText } from "../../../domain/core/fields.ts";
import { LABEL_CHARS_MAX, RATE_TIERS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import { parseRate, rateBody, tierBody } from "../../../domain/pricing/rate_body.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { rowFields } from "../../../domain/pricing/rate_body.ts";
import type { RateMatch, RateRow } from "../../../domain/pricing/rates.ts";
import { teamKey } from "../../http/access.ts";
import { answerTagged, answerWrite } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { endpoints, tagged, written } from "../../openapi/describe.ts";
import { cursorOf, ifNoneMatch, limitOf, matchStep, rateSource } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { returns } from "../answers.ts";
import {
  type MatchQuery,
  NO_SUCH_ROW,
  parseListQuery,
  parseMatchQuery,
  type RatePage,
  ratePage,
} from "./rate_card.ts";

const rates = {
  input_usd_per_million: shape.dollars.schema,
  output_usd_per_million: shape.dollars.schema,
  cached_input_usd_per_million: shape.dollars.schema.nullable().describe(
    "Null: the input rate applies.",
  ),
  cache_write_usd_per_million: shape.dollars.schema.nullable().describe(
    "Null: the input rate applies.",
  ),
};

const tier = z.object({ above_input_tokens: shape.count.schema, ...rates }).meta({
  id: "RateTier",
});

const FIELDS = {
  id: z.string().describe("Permanent id of this row; a changed price gets a new id."),
  source: rateSource,
  provider: z.string().nullable().describe("Null: matches any provider."),
  model: z.string(),
  effective_from: shape.instant.schema.nullable().describe("Null: always in effect."),
  ...rates,
  tiers: z.array(tier)
    .describe("A call with more input tokens is priced at the tier's rates for all its tokens."),
  batch_percent: z.number().meta({ type: "integer", minimum: 0, maximum: 100 }).nullable()
    .describe("Percentage of all these rates for batch calls; null: no batch rate."),
};

const row = shape.wire<RateRow>(
  z.object(FIELDS).meta({ id: "RateRow" }),
  (row) => rawOf(rowFields(row)),
);

/** An own row, with its author. */
const ownRow = shape.wire<OwnRate>(
  z.object({
    ...FIELDS,
    created_at: shape.instant.schema,
    created_by: z.string().describe("Id of the credential that wrote the row."),
    note: z.string().nullable(),
  }).meta({ id: "OwnRateRow" }),
  ({ row, createdAt, createdBy, note = null }) =>
    rawOf({ ...rowFields(row), created_at: formatInstant(createdAt), created_by: createdBy, note }),
);

/** Source package of the default rows; only its name may begin with an at sign. */
const SOURCE = /^(?<name>.+)@(?<version>.*)$/.exec(DEFAULT_RATES.generatedFrom)?.groups;

const card = shape.object<RatePage>("RateCard", {
  own: shape.list(ownRow)("own", "All of the team's own rows that match."),
  default: shape.list(row)("defaults", "One page of default rows, ordered by id."),
  cursor: shape.nextCursor("cursor"),
  default_source: shape.object("RateCardSource", {
    name: shape.text(() => SOURCE?.name ?? ""),
    version: shape.text(() => SOURCE?.version ?? ""),
  })(() => ({})),
});

/** The price of a call. */
const match = shape.object<MatchQuery & { readonly rate: RateMatch | null }>("RateMatch", {
  provider: shape.text.orNull("provider"),
  model: shape.text("model"),
  at: shape.instant("at"),
  matched_by: shape.wire(matchStep).orNull(
    ({ rate }) => rate?.match,
    "Lookup step that matched; null for a model without a price.",
  ),
  row: row.orNull(({ rate }) => rate?.row),
});

const tierRequest = tierBody.meta({ id: "RateTierRequest" });

const putBody = rateBody.extend({
  tiers: z.array(tierRequest).max(RATE_TIERS_MAX).nullish()
    .describe("Rates of calls with more input tokens."),
}).meta({ id: "RateRequest" });

export const RATE_CARD_ENDPOINTS = endpoints("Rate card", {
  listRates: {
    route: "GET /v1/rate-card",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const query = parseListQuery(queryOf(c));
      return answerTagged(c, card.write(await ratePage(deps, c.get("principal").team, query)));
    },
    summary: "List prices",
    description: "Returns all of the team's own rows, and one page of the default rows.",
    query: {
      provider: z.string().optional().describe("Rows of this provider, by any of its names."),
      model: z.string().optional().describe("Rows whose model contains this text."),
      source: rateSource.optional().describe("Rows of this source only."),
      limit: limitOf(RATES_PER_PAGE, "default rows"),
      cursor: cursorOf("cursor"),
    },
    headers: ifNoneMatch,
    answers: tagged("The rate card.", card),
  },
  putRate: {
    route: "PUT /v1/rate-card",
    access: teamKey("admin"),
    handler: async (c, { rateCards }, { team, credentialId }) => {
      const spec = parseRate(c.get("body"));
      const outcome = await rateCards.put(team, spec, credentialId);
      return answerWrite(c, outcome.kind, ownRow.write(outcome.rate), null);
    },
    summary: "Set a price",
    description: "`provider`, `model` and `effective_from` identify the row. Returns 202 when " +
      "the row is new or replaces one with other values, 200 when the stored row is the same. It " +
      "prices calls that are stored from then on.",
    body: putBody,
    answers: written(ownRow),
    errors: ["missing_field"],
    idempotency: "content",
  },
  matchRate: {
    route: "GET /v1/rate-card/match",
    access: teamKey("admin"),
    ...returns("The matching row, or null.", match, async (c, deps, { team }) => {
      const query = parseMatchQuery(queryOf(c), deps.environment.now());
      const card = await deps.rateCards.card(team);
      return { ...query, rate: card.find(query.provider, query.model, query.at) };
    }),
    summary: "Find the price of a call",
    description: "Returns the row that would price a call, and how its model's name was matched.",
    query: {
      model: z.string().max(LABEL_CHARS_MAX).describe("The model, as the call names it."),
      provider: z.string().max(LABEL_CHARS_MAX).optional()
        .describe("The provider, as the call names it."),
      at: instantText.optional().describe("Time of the call; now when absent."),
    },
    errors: ["missing_field"],
  },
  deleteRate: {
    route: "DELETE /v1/rate-card/:id",
    access: teamKey("admin"),
    ...returns("The deleted row.", ownRow, async (c, { rateCards }, { team, credentialId }) => {
      const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
      return existing(deleted, NO_SUCH_ROW);
    }),
    summary: "Delete a price",
    description: "Deletes an own row; calls that it priced keep their price. Any other id " +
      "returns 404, including ids of default rows and of rows that are already deleted.",
    pathFields: { id: z.string().describe("The row's id.") },
    errors: ["not_found"],
    idempotency: "target",
  },
});
