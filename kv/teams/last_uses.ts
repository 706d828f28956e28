/**
 * When credentials were last used: gathered in memory and written behind, so that no request waits for it
 * nor writes because of it.
 *
 * It is written once an hour for each credential, and at a regular end. So the instant is exact in the
 * process that served it, and may be an hour old elsewhere and after a crash.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { groupsOf } from "../base/groups.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";

/** Part of the share of credentials; the rest is for the credentials themselves. */
const USES_PART = 0.5;

/** Bytes of a use without its characters. */
const USE_BYTES = 80;

/** Milliseconds between two writes of one credential. */
const WRITTEN_EVERY_MS = 3_600_000;

/** Rows of one commit. */
const ROWS_PER_COMMIT = 200;

/** The use of one credential. */
export interface Use {
  /** The team it belongs to. */
  readonly team: TeamId;
  /** The credential. */
  readonly id: string;
  /** When it was last used, unix milliseconds; set with each use. */
  usedAt: number;
  /** The use that was written last; `-Infinity` before this process wrote any. */
  writtenAt: number;
}

/** The last uses in one process. */
export class LastUses {
  readonly #store: Store;
  readonly #uses: ByteCache<string, Use>;

  /** Nothing was used yet. */
  constructor(store: Store) {
    this.#store = store;
    this.#uses = new ByteCache({
      memory: store.memory,
      share: "credentials",
      part: USES_PART,
      // The key is the id of the use.
      bytesOf: ({ team, id }) => USE_BYTES + BYTES_PER_CHAR * (team.length + id.length),
    });
  }

  /** Takes note of a use; who keeps what it answers notes further ones there. */
  note(team: TeamId, id: string, nowMs: number): Use {
    const known = this.#uses.get(id);
    const use = known ?? { team, id, usedAt: nowMs, writtenAt: -Infinity };
    use.usedAt = nowMs;
    if (known === undefined) this.#uses.set(id, use);
    return use;
  }

  /** When credentials of a team were last used, in the order of their ids; null for not known. */
  async read(team: TeamId, ids: readonly string[]): Promise<(number | null)[]> {
    const stored = await getAll(this.#store, ids.map((id) => keys.credentialUse(team, id)));
    return ids.map((id, at) => {
      const latest = Math.max(
        Number(stored[at]?.value ?? -Infinity),
        this.#uses.peek(id)?.usedAt ?? -Infinity,
      );
      return latest === -Infinity ? null : latest;
    });
  }

  /**
   * Writes down what is due.
   *
   * @param all whether also what was written within the hour, which is for the end of the process
   */
  async write(all = false): Promise<void> {
    const due = [...this.#uses.values()].filter(({ usedAt, writtenAt }) =>
      all ? usedAt > writtenAt : usedAt - writtenAt >= WRITTEN_EVERY_MS
    );
    for (const some of groupsOf(due, ROWS_PER_COMMIT)) await this.#writeSome(some);
  }

  async #writeSome(uses: readonly Use[]): Promise<void> {
    const rows = uses.map((use) => ({
      use,
      usedAt: use.usedAt,
      key: keys.credentialUse(use.team, use.id),
    }));
    // Another process may have written a later one.
    const stored = await getAll(this.#store, rows.map(({ key }) => key));
    const sets = rows.filter(({ usedAt }, at) => usedAt > Number(stored[at]?.value ?? -Infinity))
      .map(({ key, usedAt }) => ({ key, value: usedAt }));
    if (sets.length > 0) await this.#store.writer.commit({ sets });
    for (const { use, usedAt } of rows) use.writtenAt = usedAt;
  }
}
