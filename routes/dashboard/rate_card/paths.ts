/** Where pages of the rate card are. */
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";

/** Which row prices a call. */
export const MATCH = `${RATE_CARD_PATH}/match`;

/** The form of a row. */
export const NEW_RATE = `${RATE_CARD_PATH}/new`;

/** Pricing stored calls anew. */
export const REPRICE = `${RATE_CARD_PATH}/reprice`;

/** Where an own row is deleted. */
export function deletePath(id: string): string {
  return `${RATE_CARD_PATH}/rows/${encodeURIComponent(id)}/delete`;
}

/** A job that prices calls anew. */
export function jobPath(id: string): string {
  return `${REPRICE}/${encodeURIComponent(id)}`;
}

/** The form that prices a model's calls anew; `done` says what was just done to the card. */
export function repricePath(
  { model, provider }: { readonly model: string; readonly provider: string | null },
  done?: "stored" | "deleted",
): string {
  return REPRICE + queryText([["model", model], ["provider", provider], ["done", done]]);
}
