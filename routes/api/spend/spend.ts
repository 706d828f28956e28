/** `GET /v1/spend` and `GET /v1/spend/unpriced`. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import { type ReadRows, spendOf } from "../../../domain/spend/spend.ts";
import {
  parseSpendQuery,
  parseUnpricedQuery,
  type SpendQuery,
} from "../../../domain/spend/spend_query.ts";
import { type Unpriced, unpricedOf } from "../../../domain/spend/unpriced.ts";
import { answer, fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { spendJson, unpricedJson } from "./spend_json.ts";

export const getSpend: Handler = async (c, { spend, environment }) => {
  const query = parseSpendQuery(queryOf(c), environment.now());
  if (!query.ok) return fail(c, query.problem);
  const { team } = c.get("principal");
  const read = rowsOf(spend, team, query.value);
  const sums = await spend.ask(team, () => spendOf(query.value, read));
  if (!sums.ok) return fail(c, sums.problem);
  return answer(c, 200, spendJson(query.value, sums.value));
};

export const getUnpriced: Handler = async (c, deps) => {
  const query = parseUnpricedQuery(queryOf(c), deps.environment.now());
  if (!query.ok) return fail(c, query.problem);
  const models = await unpricedModels(deps, c.get("principal").team, query.value);
  if (!models.ok) return fail(c, models.problem);
  return answer(c, 200, unpricedJson(query.value, models.value));
};

/** The models without a price, estimated by the team's card. */
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

/** Reads a team's rows of the days asked for. */
export function rowsOf(spend: AppDeps["spend"], team: Team, { from, to }: SpendQuery): ReadRows {
  return (kind) => spend.rows(team, kind, from, to);
}
