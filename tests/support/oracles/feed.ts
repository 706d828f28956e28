/** Follows the feed of a store, and checks that a follower ends up with the store's data. */
import { assert, assertEquals } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { RunChange } from "../../../domain/feed/changes.ts";
import { listRowOf } from "../../../domain/runs/list.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { ChangeNotifier } from "../../../kv/summaries/team_commit.ts";
import { readHeads } from "../../../kv/runs/heads.ts";
import type { Store } from "../../../kv/store.ts";

/** Reads a feed from the beginning in pages, and keeps the last change of each run. */
export class Follower {
  readonly known = new Map<RunId, RunChange>();
  /** Changes in the order of receipt. */
  readonly received: RunChange[] = [];
  at = 0;

  constructor(readonly team: TeamId) {}

  /** Continues from its position to the current end of the feed. */
  async readOn(store: Store, limit = 3): Promise<void> {
    const changes = createChangeStore(store, new ChangeNotifier());
    for (;;) {
      const page = await changes.page(this.team, this.at, limit);
      assert(page !== null, `the feed has not reached ${this.at}`);
      for (const change of page.changes) {
        assert(change.number > (this.received.at(-1)?.number ?? 0), "numbers go up");
        this.received.push(change);
        this.known.set(change.kind === "deleted" ? change.run : change.row.id, change);
      }
      assert(page.next >= this.at);
      this.at = page.next;
      if (!page.hasMore) return;
    }
  }
}

/**
 * Fails unless a team's feed has each of these runs once, in its current state, and the follower
 * agrees.
 */
export async function assertFollowed(
  store: Store,
  follower: Follower,
  ids: readonly RunId[],
): Promise<void> {
  const fresh = new Follower(follower.team);
  await fresh.readOn(store, 500);
  assertEquals(fresh.received.length, fresh.known.size, "a run is in the feed twice");
  const heads = await readHeads({ store, team: follower.team }, ids);
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
