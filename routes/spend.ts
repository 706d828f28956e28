/** `GET /v1/spend` and `GET /v1/spend/unpriced`. */
import { spendOf } from "../domain/spend.ts";
import { parseSpendQuery, parseUnpricedQuery, type SpendQuery } from "../domain/spend_query.ts";
import { type EstimateRow, unpricedOf } from "../domain/unpriced.ts";
import { answer, fail } from "./answer.ts";
import type { AppDeps, Handle, RequestContext } from "./context.ts";
import { queryOf } from "./query.ts";
import { spendJson, unpricedJson } from "./spend_json.ts";

/** What the handlers of spend are built from. */
type SpendDeps = Pick<AppDeps, "spend" | "environment"> & {
  /** Finds a row to estimate unpriced models with; without it nothing is estimated. */
  readonly estimateRow?: EstimateRow;
};

export function getSpend({ spend, environment }: SpendDeps): Handle {
  return async (c) => {
    const query = parseSpendQuery(queryOf(c), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const sums = await spendOf(query.value, rowsOf(c, spend, query.value));
    if (!sums.ok) return fail(c, sums.problem);
    return answer(c, 200, spendJson(query.value, sums.value));
  };
}

export function getUnpriced({ spend, environment, estimateRow }: SpendDeps): Handle {
  return async (c) => {
    const query = parseUnpricedQuery(queryOf(c), environment.now());
    if (!query.ok) return fail(c, query.problem);
    const { team } = c.get("principal");
    const models = await unpricedOf(
      query.value,
      rowsOf(c, spend, query.value),
      ({ provider, model }) => estimateRow?.(team, provider, model) ?? null,
    );
    if (!models.ok) return fail(c, models.problem);
    return answer(c, 200, unpricedJson(query.value, models.value));
  };
}

/** Reads the team's own rows of the days asked for. */
function rowsOf(c: RequestContext, spend: AppDeps["spend"], { from, to }: SpendQuery) {
  const { team } = c.get("principal");
  return (kind: Parameters<typeof spend.rows>[1]) => spend.rows(team, kind, from, to);
}
