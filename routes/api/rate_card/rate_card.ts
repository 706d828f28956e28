/** `/v1/rate-card`: prices of model calls, and the own rows that override the default ones. */
import { notFound, Refused } from "../../../domain/core/errors.ts";
import { LABEL_CHARS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { Query } from "../../../domain/core/query.ts";
import { isText } from "../../../domain/core/rules.ts";
import { missing } from "../../../domain/core/validate.ts";
import { DEFAULT_RATES, findProvider } from "../../../domain/pricing/default_rates.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { decodeCursor, encodeCursor } from "../../http/query.ts";

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

/** The same error for an unknown id, an id of another team, and an id of the default card. */
export const NO_SUCH_ROW = notFound(
  "No own row has this id: list the card to see ids. Rows of the default card cannot be " +
    "deleted: add an own row for the model, which takes precedence",
);

/** Filters and page of a list. */
export interface RateListQuery {
  readonly limit: number;
  /** Id of the last row of the previous page; empty for the first page. */
  readonly after: string;
  readonly source: RateRow["source"] | undefined;
  readonly accepts: (row: RateRow) => boolean;
}

/** Parses the query of a list. */
export function parseListQuery(text: string): RateListQuery {
  const query = new Query(text);
  const source = query.choice("source", ["own", "default"]);
  const { limit, after } = query.page(decodeCursor, RATES_PER_PAGE);
  const accepts = filterOf(query.text("provider"), query.text("model"));
  return { limit, after: after ?? "", source, accepts };
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
export function parseMatchQuery(text: string, nowMs: number): MatchQuery {
  const query = new Query(text);
  const nameIn = (field: string) =>
    query.valid(
      field,
      (text) => isText(text, LABEL_CHARS_MAX),
      `well-formed text of at most ${LABEL_CHARS_MAX} characters`,
    );
  const isGiven = query.text("model") !== undefined;
  if (!isGiven) throw new Refused(missing("model", "model", "a model"));
  const [provider, model] = [nameIn("provider"), nameIn("model") ?? ""];
  return { provider, model, at: query.instant("at") ?? nowMs };
}
