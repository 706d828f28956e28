/** Opens databases of a {@link KvServer} as its clients do. */

/** Token of the server's clients. */
export const KV_TOKEN = "kvt_0123456789abcdef";

/** Opens something with the token in the environment, where the runtime looks for it. */
export async function asKvClient<T>(open: () => Promise<T>): Promise<T> {
  Deno.env.set("DENO_KV_ACCESS_TOKEN", KV_TOKEN);
  return await open();
}

/** Opens a database of a server. */
export function openRemote(url: string): Promise<Deno.Kv> {
  return asKvClient(() => Deno.openKv(url));
}
