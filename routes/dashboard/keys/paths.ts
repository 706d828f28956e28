/** Paths of the pages of keys. */
import { KEYS_PATH, queryText } from "../layout/paths.ts";

/** Changes that ask for confirmation. */
export type KeyConfirmation = "rotate" | "revoke";

/** The page of one key, with the form for a change of it. */
export function keyPath(id: string, confirm: KeyConfirmation | null = null): string {
  return KEYS_PATH + queryText([["confirm", confirm], ["id", id]]);
}

/** The form for a new one. */
export function newKeyPath(kind: "api_key" | "ping_token", agent: string | null = null): string {
  return `${KEYS_PATH}/new${queryText([["kind", kind], ["agent", agent]])}`;
}
