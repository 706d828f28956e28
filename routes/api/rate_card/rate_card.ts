/** `/v1/rate-card`: prices of model calls, and the own rows that override the default ones. */
import { z } from "zod";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { missing } from "../../../domain/core/validate.ts";
import { DEFAULT_RATES, findProvider } from "../../../domain/pricing/default_rates.ts";
import { notFound, type Parsed } from "../../../domain/core/errors.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { readQuery, refuseParameter, refuseQuery } from "../../../domain/core/query.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { parseRate, rowFields } from "../../../domain/pricing/rate_body.ts";
import type { RateMatch, RateRow } from "../../../domain/pricing/rates.ts";
import { isText } from "../../../domain/core/rules.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, answerTagged, answerWrite, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";
import { matchStep, rateSource } from "../../openapi/fields.ts";
import {
  count,
  dollars,
  instant,
  list,
  nextCursor,
  object,
  text,
  wire,
} from "../../openapi/wire.ts";

export const listRates: Handler = async (c, deps) => {
  const query = parseListQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  return answerTagged(c, card.write(await ratePage(deps, c.get("principal").team, query.value)));
};

/** A page of the rate card. */
export interface RatePage {
  /** All own rows that match. */
  readonly own: readonly OwnRate[];
  /** Default rows of this page. */
  readonly defaults: readonly RateRow[];
  /** Cursor of the next page; null on the last page. */
  readonly cursor: string | null;
}

const DEFAULTS = DEFAULT_RATES.rows.toSorted((a, b) => a.id < b.id ? -1 : 1);

/** Reads a page of a team's rate card. */
export async function ratePage(
  { rateCards }: Pick<AppDeps, "rateCards">,
  team: Team,
  { limit, after, source, accepts }: RateListQuery,
): Promise<RatePage> {
  const own = source === "default" ? [] : await rateCards.rows(team);
  const ahead = source === "own" ? [] : DEFAULTS.filter((row) => row.id > after && accepts(row));
  const defaults = ahead.slice(0, limit);
  const last = ahead.length > defaults.length ? defaults.at(-1) : undefined;
  return {
    own: own.filter(({ row }) => accepts(row)),
    defaults,
    cursor: last === undefined ? null : encodeCursor(last.id),
  };
}

export const matchRate: Handler = async (c, { rateCards, environment }) => {
  const query = parseMatchQuery(queryOf(c), environment.now());
  if (!query.ok) return fail(c, query.problem);
  const { provider, model, at } = query.value;
  const found = (await rateCards.card(c.get("principal").team)).find(provider, model, at);
  return answer(c, 200, match.write({ ...query.value, found }));
};

export const putRate: Handler = async (c, { rateCards }) => {
  const spec = parseRate(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { team, credentialId } = c.get("principal");
  const outcome = await rateCards.put(team, spec.value, credentialId);
  if (outcome.kind === "refused") return fail(c, outcome.problem);
  return answerWrite(c, outcome.kind, ownRow.write(outcome.rate), null);
};

export const deleteRate: Handler = async (c, { rateCards }) => {
  const { team, credentialId } = c.get("principal");
  const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
  return deleted === null ? fail(c, NO_SUCH_ROW) : answer(c, 200, ownRow.write(deleted));
};

/** Identical for an unknown id, another team's, and one of the default card. */
export const NO_SUCH_ROW = notFound(
  "No own row has this id: list the card to see ids. Rows of the default card cannot be " +
    "deleted: add an own row for the model, which takes precedence",
);

const rates = {
  input_usd_per_million: dollars.schema,
  output_usd_per_million: dollars.schema,
  cached_input_usd_per_million: dollars.schema.nullable().describe("Null: the input rate applies."),
  cache_write_usd_per_million: dollars.schema.nullable().describe("Null: the input rate applies."),
};

const tier = z.object({ above_input_tokens: count.schema, ...rates }).meta({ id: "RateTier" });

const FIELDS = {
  id: z.string().describe("Permanent id of this row; a changed price gets a new id."),
  source: rateSource,
  provider: z.string().nullable().describe("Null: matches any provider."),
  model: z.string(),
  effective_from: instant.schema.nullable().describe("Null: always in effect."),
  ...rates,
  tiers: z.array(tier)
    .describe("A call with more input tokens is priced at the tier's rates for all its tokens."),
  batch_percent: z.number().meta({ type: "integer", minimum: 0, maximum: 100 }).nullable()
    .describe("Percentage of all these rates for batch calls; null: no batch rate."),
};

const row = wire<RateRow>(z.object(FIELDS).meta({ id: "RateRow" }), (row) => rawOf(rowFields(row)));

/** An own row, with its author. */
export const ownRow = wire<OwnRate>(
  z.object({
    ...FIELDS,
    created_at: instant.schema,
    created_by: z.string().describe("Id of the credential that wrote the row."),
    note: z.string().nullable(),
  }).meta({ id: "OwnRateRow" }),
  ({ row, createdAt, createdBy, note = null }) =>
    rawOf({
      ...rowFields(row),
      created_at: formatInstant(createdAt),
      created_by: createdBy,
      note,
    }),
);

/** Source package of the default rows; only its name may begin with an at sign. */
const SOURCE = /^(?<name>.+)@(?<version>.*)$/.exec(DEFAULT_RATES.generatedFrom)?.groups;

/** A page of the card. */
export const card = object<RatePage>("RateCard", {
  own: list(ownRow)("own", "All of the team's own rows that match."),
  default: list(row)("defaults", "One page of default rows, ordered by id."),
  cursor: nextCursor("cursor"),
  default_source: object("RateCardSource", {
    name: text(() => SOURCE?.name ?? ""),
    version: text(() => SOURCE?.version ?? ""),
  })(() => ({})),
});

/** The price of a call. */
export const match = object<MatchQuery & { readonly found: RateMatch | null }>("RateMatch", {
  provider: text.orNull("provider"),
  model: text("model"),
  at: instant("at"),
  matched_by: wire(matchStep).orNull(
    ({ found }) => found?.match,
    "Lookup step that matched; null for a model without a price.",
  ),
  row: row.orNull(({ found }) => found?.row),
});

/** Filters and page of a list. */
interface RateListQuery {
  readonly limit: number;
  /** Id of the last row of the previous page; empty for the first page. */
  readonly after: string;
  readonly source: RateRow["source"] | undefined;
  readonly accepts: (row: RateRow) => boolean;
}

/** Parses the query of a list. */
export function parseListQuery(text: string): Parsed<RateListQuery> {
  return readQuery(text, (query) => {
    const source = query.choice("source", ["own", "default"]);
    const { limit, after } = query.page(decodeCursor, RATES_PER_PAGE);
    const accepts = filterOf(query.text("provider"), query.text("model"));
    return { limit, after: after ?? "", source, accepts };
  });
}

/** Creates a filter by provider, under any of its names, and by text in the model. */
function filterOf(provider: string | undefined, model: string | undefined) {
  const wantedProvider = provider === undefined ? null : providerOf(provider);
  const wantedModel = model?.toLowerCase() ?? "";
  return (row: RateRow): boolean =>
    row.model.toLowerCase().includes(wantedModel) &&
    (wantedProvider === null ||
      (row.provider !== null && providerOf(row.provider) === wantedProvider));
}

function providerOf(name: string): string {
  return findProvider(name) ?? name.toLowerCase();
}

/** The call to find a price for. */
export interface MatchQuery {
  readonly provider: string | null;
  readonly model: string;
  readonly at: number;
}

/** Parses the query of a match. */
export function parseMatchQuery(text: string, nowMs: number): Parsed<MatchQuery> {
  return readQuery(text, (query) => {
    const provider = query.text("provider") ?? null;
    const model = query.text("model") ?? refuseQuery(missing("model", "model", "a model"));
    for (const [field, value] of [["provider", provider ?? ""], ["model", model]] as const) {
      if (isText(value, LABEL_CHARS_MAX)) continue;
      const message =
        `"${field}" must be well-formed text of at most ${LABEL_CHARS_MAX} characters`;
      refuseParameter(field, message);
    }
    return { provider, model, at: query.instant("at") ?? nowMs };
  });
}
