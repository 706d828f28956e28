/** Paths of the pages of the rate card. */
import type { RateRow } from "../../../domain/pricing/rates.ts";
import type { ModelName } from "../../../domain/runs/model_usage.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";

/** Lookup of the row that prices a call. */
export const MATCH = `${RATE_CARD_PATH}/match`;

/** Form for a row. */
export const NEW_RATE = `${RATE_CARD_PATH}/new`;

/** Repricing stored calls. */
export const REPRICE = `${RATE_CARD_PATH}/reprice`;

/** Path of the form, prefilled from a row. */
export function editPath({ id }: RateRow): string {
  return NEW_RATE + queryText([["row", id]]);
}

/** Path of the form that deletes an own row. */
export function deletePath(id: string): string {
  return `${RATE_CARD_PATH}/rows/${encodeURIComponent(id)}/delete`;
}

/** Path of a repricing job. */
export function jobPath(id: string): string {
  return `${REPRICE}/${encodeURIComponent(id)}`;
}

/**
 * Path of the form that reprices a model's calls; `done` names the preceding change of the card.
 */
export function repricePath({ model, provider }: ModelName, done: "stored" | "deleted"): string {
  return REPRICE + queryText([["model", model], ["provider", provider], ["done", done]]);
}
