/** Paths of the pages of keys. */
import { KEYS_PATH, queryText } from "../layout/paths.ts";

/** Changes that ask for confirmation. */
export type KeyConfirmation = "rotate" | "revoke";

/** Path of the page of one key, optionally with the form for a change. */
export function keyPath(id: string, confirm: KeyConfirmation | null = null): string {
  return KEYS_PATH + queryText([["confirm", confirm], ["id", id]]);
}

/** Path of the form for a new credential. */
export function newKeyPath(kind: "api_key" | "ping_token", agent: string | null = null): string {
  return `${KEYS_PATH}/new${queryText([["kind", kind], ["agent", agent]])}`;
}
