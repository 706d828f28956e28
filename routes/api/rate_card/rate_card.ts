/** `/v1/rate-card`: prices of model calls, and the own rows that override the default ones. */
import { notFound, type Parsed, refuse } from "../../../domain/core/errors.ts";
import { LABEL_CHARS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { parseBounds } from "../../../domain/core/page.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { isText } from "../../../domain/core/rules.ts";
import { parseInstant } from "../../../domain/core/time.ts";
import { missing } from "../../../domain/core/validate.ts";
import { DEFAULT_RATES, findProvider } from "../../../domain/pricing/default_rates.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/cursor.ts";

/** A page of the rate card: all own rows that match, and the default rows of the page. */
export type RatePage = Awaited<ReturnType<typeof ratePage>>;

const DEFAULTS = DEFAULT_RATES.rows.toSorted((a, b) => a.id < b.id ? -1 : 1);

/** Reads a page of a team's rate card. */
export async function ratePage(
  { rateCards }: Pick<AppDeps, "rateCards">,
  team: Team,
  { limit, after, source, accepts }: RateListQuery,
) {
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

/** Identical for an unknown id, another team's, and one of the default card. */
export const NO_SUCH_ROW = notFound(
  "No own row has this id: list the card to see ids. Rows of the default card cannot be " +
    "deleted: add an own row for the model, which takes precedence",
);

/** Filters and page of a list. */
interface RateListQuery {
  readonly limit: number;
  /** Id of the last row of the previous page; empty for the first page. */
  readonly after: string;
  readonly source: RateRow["source"] | undefined;
  readonly accepts: (row: RateRow) => boolean;
}

/** Parses the query of a list. */
export function parseListQuery(query: string): Parsed<RateListQuery> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const values = parameters.value;
  const source = values.get("source");
  if (source !== undefined && source !== "own" && source !== "default") {
    return refuse("invalid_field", '"source" must be one of "own", "default"', "source");
  }
  const page = parseBounds(values, RATES_PER_PAGE, decodeCursor);
  if (!page.ok) return page;
  const { limit, after } = page.value;
  const accepts = filterOf(values.get("provider"), values.get("model"));
  return { ok: true, value: { limit, after: after ?? "", source, accepts } };
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
  return findProvider(DEFAULT_RATES, name) ?? name.toLowerCase();
}

/** The call to find a price for. */
export interface MatchQuery {
  readonly provider: string | null;
  readonly model: string;
  readonly at: number;
}

/** Parses the query of a match. */
export function parseMatchQuery(query: string, nowMs: number): Parsed<MatchQuery> {
  const parameters = parseQuery(query);
  if (!parameters.ok) return parameters;
  const provider = parameters.value.get("provider") ?? null;
  const model = parameters.value.get("model");
  if (model === undefined) return { ok: false, problem: missing("model", "model", "a model") };
  for (const [field, value] of [["provider", provider ?? ""], ["model", model]] as const) {
    if (isText(value, LABEL_CHARS_MAX)) continue;
    const message = `"${field}" must be well-formed text of at most ${LABEL_CHARS_MAX} characters`;
    return refuse("invalid_field", message, field);
  }
  const instant = parameters.value.get("at");
  const at = instant === undefined ? nowMs : parseInstant(instant);
  if (at !== null) return { ok: true, value: { provider, model, at } };
  const message = '"at" must be an RFC 3339 instant such as 2026-01-31T12:00:00.000Z';
  return refuse("invalid_field", message, "at");
}
