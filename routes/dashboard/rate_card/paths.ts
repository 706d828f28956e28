/** Paths of the pages of the rate card. */
import { formatInstant } from "../../../domain/core/time.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { ModelName } from "../../../domain/runs/model_usage.ts";
import { pathsBelow, queryText, RATE_CARD_PATH } from "../layout/paths.ts";

/** Form for a row. */
export const NEW_RATE = `${RATE_CARD_PATH}/new`;

/** Repricing stored calls. */
export const REPRICE = `${RATE_CARD_PATH}/reprice`;

/** Path of the form, prefilled from a row; it asks to delete the row if the link does. */
export function editPath({ id }: RateRow, confirm?: "delete"): string {
  return NEW_RATE + queryText([["row", id], ["confirm", confirm]]);
}

/** Path of the form that adds a price for calls of a model. */
export function addPath({ provider, model }: ModelName): string {
  return NEW_RATE + queryText([["provider", provider], ["model", model]]);
}

/** Path of the search that shows what calls of a model cost at an instant. */
export function pricePath({ provider, model }: ModelName, atMs: number): string {
  const filters = [["model", model], ["provider", provider], ["at", formatInstant(atMs)]] as const;
  return RATE_CARD_PATH + queryText(filters);
}

/** Path of a repricing job. */
export const jobPath = pathsBelow(REPRICE);

/** Path of the form that reprices a model's calls, after a change of the card. */
export function repricePath({ model, provider }: ModelName, done: "saved" | "deleted"): string {
  return REPRICE + queryText([["model", model], ["provider", provider], ["done", done]]);
}
