/** `/v1/rate-card`: prices of model calls, and the own rows that override the default ones. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { missing } from "../../../domain/core/validate.ts";
import {
  DEFAULT_RATES,
  type DefaultRates,
  findProvider,
} from "../../../domain/pricing/default_rates.ts";
import { notFound, type Parsed } from "../../../domain/core/errors.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { readQuery, refuseParameter, refuseQuery } from "../../../domain/core/query.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { parseRate, rowFields } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { isText } from "../../../domain/core/rules.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, answerTagged, answerWrite, fail } from "../../http/answer.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";
import { queryOf } from "../../http/query.ts";

export const listRates: Handler = async (c, deps) => {
  const query = parseListQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  const { own, defaults, cursor } = await ratePage(deps, c.get("principal").team, query.value);
  const json = rawOf({
    own: own.map(ownFields),
    default: defaults.map(rowFields),
    cursor,
    default_source: defaultSource(DEFAULT_RATES),
  });
  return answerTagged(c, json);
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
  const match = (await rateCards.card(c.get("principal").team)).find(provider, model, at);
  const json = rawOf({
    provider,
    model,
    at: formatInstant(at),
    matched_by: match?.match ?? null,
    row: match === null ? null : rowFields(match.row),
  });
  return answer(c, 200, json);
};

export const putRate: Handler = async (c, { rateCards }) => {
  const spec = parseRate(c.get("body"));
  if (!spec.ok) return fail(c, spec.problem);
  const { team, credentialId } = c.get("principal");
  const outcome = await rateCards.put(team, spec.value, credentialId);
  if (outcome.kind === "refused") return fail(c, outcome.problem);
  return answerWrite(c, outcome.kind, ownJson(outcome.rate), null);
};

export const deleteRate: Handler = async (c, { rateCards }) => {
  const { team, credentialId } = c.get("principal");
  const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
  return deleted === null ? fail(c, NO_SUCH_ROW) : answer(c, 200, ownJson(deleted));
};

/** Identical for an unknown id, another team's, and one of the default card. */
export const NO_SUCH_ROW = notFound(
  "No own row has this id: list the card to see ids. Rows of the default card cannot be " +
    "deleted: add an own row for the model, which takes precedence",
);

function ownJson(rate: OwnRate): RawJson {
  return rawOf(ownFields(rate));
}

/** Wire fields of an own row, with its author. */
function ownFields({ row, createdAt, createdBy, note }: OwnRate) {
  const created = { created_at: formatInstant(createdAt), created_by: createdBy };
  return { ...rowFields(row), ...created, note: note ?? null };
}

/** Splits the source package of the default rows; only its name may begin with an at sign. */
function defaultSource({ generatedFrom }: DefaultRates) {
  const at = generatedFrom.lastIndexOf("@");
  return { name: generatedFrom.slice(0, at), version: generatedFrom.slice(at + 1) };
}

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
