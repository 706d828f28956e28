/** Opens databases of a shared KV as its clients do. */

import { withAccessToken } from "../../../kv/open.ts";

/** Token of the server's clients. */
export const KV_TOKEN = "kvt_0123456789abcdef";

/** Opens something with the token. */
export function asKvClient<T>(open: () => Promise<T>): Promise<T> {
  return withAccessToken(KV_TOKEN, open);
}

/** Opens a database of a server. */
export function openRemote(url: string): Promise<Deno.Kv> {
  return asKvClient(() => Deno.openKv(url));
}
