/** Where the pages of keys are. */
import { KEYS, queryText } from "../layout/paths.ts";

/** What is asked for before it is done. */
export type Confirm = "rotate" | "revoke";

/** One key's page, with what is to be confirmed there. */
export function keyPath(id: string, confirm: Confirm | null = null): string {
  return KEYS + queryText([["confirm", confirm], ["id", id]]);
}

/** The form for a new one. */
export function newKeyPath(kind: "api_key" | "ping_token", agent: string | null = null): string {
  return `${KEYS}/new${queryText([["kind", kind], ["agent", agent]])}`;
}
