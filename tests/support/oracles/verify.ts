/** Compares runs with their clients' responses: nothing lost, duplicated or partial. */
import { assert, assertEquals } from "@std/assert";
import { eventId } from "../builders/requests.ts";
import { EVENTS, type Script } from "../builders/scripts.ts";

interface StoredParts {
  readonly opened: boolean;
  readonly closed: boolean;
  readonly ids: readonly string[];
  readonly events: number;
}

/** Counted contents of a part of the ledger: events, and each opening and close. */
export interface PartCounts {
  stored: number;
  acknowledged: number;
  sent: number;
}

export function emptyCounts(): PartCounts {
  return { stored: 0, acknowledged: 0, sent: 0 };
}

/** Reads a run from its response; null if the service has no part of the run. */
// deno-lint-ignore no-explicit-any -- a response body
export function storedPartsOf(run: any): StoredParts {
  return {
    opened: run !== null && run.agent !== null,
    closed: run !== null && run.status !== "running",
    ids: run?.events.map((event: { id: string }) => event.id) ?? [],
    events: run?.usage.events ?? 0,
  };
}

/** Checks one run part by part, and counts its parts. */
export function verifyRun(stored: StoredParts, { id, calls }: Script, counts: PartCounts): void {
  const { opened, closed, ids } = stored;
  let counted = 0;
  for (const { stores, state } of calls) {
    const there = typeof stores === "number"
      ? ids.length >= stores
      : stores === "both"
      ? opened && closed
      : stores === "opening"
      ? opened
      : closed;
    if (state === "acknowledged") assert(there, `${stores} of ${id} is lost`);
    if (state === "unsent") assert(!there, `${stores} of ${id} was never sent`);
    const size = typeof stores === "number" ? stores - counted : 1;
    if (typeof stores === "number") counted = stores;
    if (state !== "unsent") counts.sent += size;
    if (state === "acknowledged") counts.acknowledged += size;
    if (there) counts.stored += size;
  }
  // Nothing is partial: complete batches in order, each event once; a heartbeat has both parts.
  assert([0, EVENTS.first, EVENTS.both].includes(ids.length), `${ids.length} events of ${id}`);
  assertEquals(ids, ids.map((_, n) => eventId(n)));
  assertEquals(stored.events, ids.length);
  if (calls[0]?.stores === "both") assertEquals(opened, closed, id);
}
