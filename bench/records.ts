/** What an open stores, for the two programs that write it without a service around them. */
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { keys } from "../kv/base/keys.ts";

/** Bytes of the stored opening. */
const VALUE_BYTES = 200;
const TEAM = "01JZZZZZZZZZZZZZZZZZZZZZZZ" as TeamId;

/** Where the events of a month are counted. */
export const COUNTER = keys.usage(TEAM, "2026-11");

/** The writes of one open. */
export interface Written {
  readonly key: Deno.KvKey;
  readonly value: Uint8Array;
}

let made = 0;

/** The next open's key and value; keys ascend, as ids made at the time of the open do. */
export function nextRecord(): Written {
  const digits = Date.now().toString(16).padStart(12, "0") +
    (made++).toString(16).padStart(20, "0");
  const value = new Uint8Array(VALUE_BYTES).fill(made & 0xff);
  return { key: keys.opening(TEAM, `run_eu_${digits}` as RunId), value };
}
