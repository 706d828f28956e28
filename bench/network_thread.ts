/**
 * The network to a shared KV, in a thread of its own: its processor time is not the service's.
 *
 * The first message is the origin of the KV; its answer is that of the proxy. Each later message is
 * the round trip in milliseconds.
 */
import { KvProxy } from "../tests/support/fakes/kv_proxy.ts";

/** The thread that started this one. */
const main = globalThis as unknown as Pick<Worker, "postMessage">;

let proxy: KvProxy | null = null;

globalThis.addEventListener("message", (event) => {
  const { data } = event as MessageEvent<string | number>;
  if (typeof data === "number") {
    if (proxy !== null) proxy.knobs.delayMs = () => data;
    return;
  }
  proxy = new KvProxy(() => data);
  main.postMessage(proxy.origin);
});
