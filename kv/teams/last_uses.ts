/**
 * Records when credentials were last used: collected in memory and written later, so that no
 * request waits for it or writes because of it.
 *
 * Each credential is written at most once an hour, and at a regular shutdown. The time is exact in
 * the serving process; elsewhere and after a crash it may be an hour old.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { groupsOf } from "../base/limits.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";

/** Fraction of the memory share of credentials; the rest is for the credentials themselves. */
const USES_PART = 0.5;

/** Bytes of a use without its strings. */
const USE_BYTES = 80;

/** Milliseconds between two writes of one credential. */
const WRITTEN_EVERY_MS = 3_600_000;

const ROWS_PER_COMMIT = 200;

/** Last use of one credential. */
export interface Use {
  readonly team: TeamId;
  /** Id of the credential. */
  readonly id: string;
  /** Time of the last use, unix milliseconds; callers update it. */
  usedAt: number;
  /** Last written `usedAt`; `-Infinity` before this process's first write. */
  writtenAt: number;
}

/** Last uses seen by one process. */
export class LastUses {
  readonly #store: Store;
  readonly #uses: ByteCache<string, Use>;

  constructor(store: Store) {
    this.#store = store;
    this.#uses = createByteCache({
      memory: store.memory,
      share: "credentials",
      part: USES_PART,
      // The key is the id of the use.
      bytesOf: ({ team, id }) => USE_BYTES + BYTES_PER_CHAR * (team.length + id.length),
    });
  }

  /** Records a use; callers may keep the result and update its `usedAt`. */
  note(team: TeamId, id: string, nowMs: number): Use {
    const existing = this.#uses.get(id);
    const use = existing ?? { team, id, usedAt: nowMs, writtenAt: -Infinity };
    use.usedAt = nowMs;
    if (existing === undefined) this.#uses.set(id, use);
    return use;
  }

  /** Returns the last uses of credentials in the order of `ids`; null if unknown. */
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
   * Writes uses that are due.
   *
   * @param all also writes credentials written within the last hour, for shutdown
   */
  async write(all = false): Promise<void> {
    const due = [...this.#uses.values()].filter(({ usedAt, writtenAt }) =>
      all ? usedAt > writtenAt : usedAt - writtenAt >= WRITTEN_EVERY_MS
    );
    for (const group of groupsOf(due, ROWS_PER_COMMIT)) await this.#writeSome(group);
  }

  async #writeSome(uses: readonly Use[]): Promise<void> {
    const rows = uses.map((use) => ({
      use,
      usedAt: use.usedAt,
      key: keys.credentialUse(use.team, use.id),
    }));
    // Another process may have written a later use.
    const stored = await getAll(this.#store, rows.map(({ key }) => key));
    const sets = rows.filter(({ usedAt }, at) => usedAt > Number(stored[at]?.value ?? -Infinity))
      .map(({ key, usedAt }) => ({ key, value: usedAt }));
    if (sets.length > 0) await this.#store.writer.commit({ sets });
    for (const { use, usedAt } of rows) use.writtenAt = usedAt;
  }
}
