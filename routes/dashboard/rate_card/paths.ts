/** Paths of the pages of the rate card. */
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";

/** Which row prices a call. */
export const MATCH = `${RATE_CARD_PATH}/match`;

/** The form of a row. */
export const NEW_RATE = `${RATE_CARD_PATH}/new`;

/** Repricing stored calls. */
export const REPRICE = `${RATE_CARD_PATH}/reprice`;

/** Where an own row is deleted. */
export function deletePath(id: string): string {
  return `${RATE_CARD_PATH}/rows/${encodeURIComponent(id)}/delete`;
}

/** A job that reprices calls. */
export function jobPath(id: string): string {
  return `${REPRICE}/${encodeURIComponent(id)}`;
}

/** The form that reprices the calls of a model; `done` names the change of the card before it. */
export function repricePath(
  { model, provider }: { readonly model: string; readonly provider: string | null },
  done?: "stored" | "deleted",
): string {
  return REPRICE + queryText([["model", model], ["provider", provider], ["done", done]]);
}
