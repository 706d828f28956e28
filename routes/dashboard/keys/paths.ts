/** Where the pages of keys are. */
import { KEYS_PATH, queryText } from "../layout/paths.ts";

/** What is asked for before it is done. */
export type KeyConfirmation = "rotate" | "revoke";

/** One key's page, with what is to be confirmed there. */
export function keyPath(id: string, confirm: KeyConfirmation | null = null): string {
  return KEYS_PATH + queryText([["confirm", confirm], ["id", id]]);
}

/** The form for a new one. */
export function newKeyPath(kind: "api_key" | "ping_token", agent: string | null = null): string {
  return `${KEYS_PATH}/new${queryText([["kind", kind], ["agent", agent]])}`;
}
