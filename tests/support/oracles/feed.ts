/** Following the feed of a store, and proof that who did so holds what the store holds. */
import { assert, assertEquals } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { RunChange } from "../../../domain/feed/changes.ts";
import { listRowOf } from "../../../domain/runs/list.ts";
import { ChangeNotifier } from "../../../kv/feed/change_notifier.ts";
import { createChangeStore } from "../../../kv/feed/change_store.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";

/** Reads a feed from the beginning, some changes at a time, and keeps what it was told last of each run. */
export class Follower {
  readonly known = new Map<RunId, RunChange>();
  /** Changes in the order they were told. */
  readonly told: RunChange[] = [];
  at = 0;

  constructor(readonly team: TeamId) {}

  /** Reads on from where it is, up to the end of the feed as it is by then. */
  async readOn(store: Store, limit = 3): Promise<void> {
    const changes = createChangeStore(store, new ChangeNotifier(store));
    for (;;) {
      const page = await changes.page(this.team, this.at, limit);
      assert(page !== null, `the feed has not come to ${this.at}`);
      for (const change of page.changes) {
        assert(change.number > (this.told.at(-1)?.number ?? 0), "numbers go up");
        this.told.push(change);
        this.known.set(change.kind === "deleted" ? change.run : change.row.id, change);
      }
      assert(page.next >= this.at);
      this.at = page.next;
      if (!page.hasMore) return;
    }
  }
}

/**
 * Fails unless the feed of a team tells each of these runs once, as it is, and whoever followed it knows
 * just that.
 */
export async function assertFollowed(
  store: Store,
  follower: Follower,
  ids: readonly RunId[],
): Promise<void> {
  const fresh = new Follower(follower.team);
  await fresh.readOn(store, 500);
  assertEquals(fresh.told.length, fresh.known.size, "a run stands in the feed twice");
  const heads = await readHeads(store, follower.team, ids);
  const stored = new Map(
    heads.filter(({ summary }) => summary !== null)
      .map(({ id, head, summary }) => [id, listRowOf(id, head, summary)]),
  );
  for (const [name, { known }] of Object.entries({ fresh, follower })) {
    const rows = [...known].flatMap(([id, change]) =>
      change.kind === "changed" ? [[id, change.row] as const] : []
    );
    assertEquals(sorted(rows), sorted([...stored]), name);
    for (const [id, change] of known) {
      if (change.kind === "deleted") assert(!stored.has(id), `${id} is not deleted`);
    }
  }
  const numbers = (from: Follower) => [...from.known.values()].map(({ number }) => number).sort();
  assertEquals(numbers(follower), numbers(fresh), "the follower missed a change");
  assertEquals(follower.at, fresh.at);
}

function sorted<Value>(entries: readonly (readonly [RunId, Value])[]): (readonly [RunId, Value])[] {
  return entries.toSorted(([a], [b]) => a < b ? -1 : 1);
}
