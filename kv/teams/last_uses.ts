/**
 * Records when things of a team were last used: collected in memory and written later, so that no
 * request waits for it or writes because of it.
 *
 * Each credential is written at most once an hour, each product that sends traces once a minute, and
 * all at a regular shutdown. The time is exact in the serving process; elsewhere and after a crash it
 * may be as old as that.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { groupsOf } from "../base/reads.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";

/** Bytes of a use without its strings. */
const USE_BYTES = 80;

const ROWS_PER_COMMIT = 200;

/** Things whose uses are recorded. */
interface UsedKind {
  /** Fraction of the memory share of credentials; the rest is for the credentials themselves. */
  readonly part: number;
  /** Milliseconds between two writes of one thing. */
  readonly everyMs: number;
  /** Builds the key of a thing's use. */
  readonly keyOf: (team: TeamId, id: string) => Deno.KvKey;
}

/** Credentials, by their ids. */
export const CREDENTIAL_USES: UsedKind = {
  part: 0.45,
  everyMs: 3_600_000,
  keyOf: keys.credentialUse,
};

/** Products that send traces, by their names. */
export const PRODUCT_USES: UsedKind = { part: 0.05, everyMs: 60_000, keyOf: keys.productUse };

/** Last use of one thing. */
export interface Use {
  readonly team: TeamId;
  /** Id of the thing in its team. */
  readonly id: string;
  /** Time of the last use, unix milliseconds; callers update it. */
  usedAt: number;
  /** Last written `usedAt`; `-Infinity` before this process's first write. */
  writtenAt: number;
}

/** Last uses seen by one process. */
export class LastUses {
  readonly #store: Store;
  readonly #kind: UsedKind;
  readonly #uses: ByteCache<string, Use>;

  constructor(store: Store, kind: UsedKind) {
    this.#store = store;
    this.#kind = kind;
    this.#uses = createByteCache({
      memory: store.memory,
      share: "credentials",
      part: kind.part,
      bytesOf: ({ team, id }) => USE_BYTES + BYTES_PER_CHAR * 2 * (team.length + id.length),
    });
  }

  /** Records a use; callers may keep the result and update its `usedAt`. */
  note(team: TeamId, id: string, nowMs: number): Use {
    const name = nameOf(team, id);
    const existing = this.#uses.get(name);
    const use = existing ?? { team, id, usedAt: nowMs, writtenAt: -Infinity };
    use.usedAt = nowMs;
    if (existing === undefined) this.#uses.set(name, use);
    return use;
  }

  /** Returns the last uses of things in the order of `ids`; null if unknown. */
  async read(team: TeamId, ids: readonly string[]): Promise<(number | null)[]> {
    const stored = await getAll(this.#store, ids.map((id) => this.#kind.keyOf(team, id)));
    return ids.map((id, at) => {
      const latest = Math.max(
        Number(stored[at]?.value ?? -Infinity),
        this.#uses.peek(nameOf(team, id))?.usedAt ?? -Infinity,
      );
      return latest === -Infinity ? null : latest;
    });
  }

  /**
   * Writes uses that are due.
   *
   * @param all also writes uses that are not due yet, for shutdown
   */
  async write(all = false): Promise<void> {
    const due = [...this.#uses.values()].filter(({ usedAt, writtenAt }) =>
      all ? usedAt > writtenAt : usedAt - writtenAt >= this.#kind.everyMs
    );
    for (const group of groupsOf(due, ROWS_PER_COMMIT)) await this.#writeSome(group);
  }

  async #writeSome(uses: readonly Use[]): Promise<void> {
    const rows = uses.map((use) => ({
      use,
      usedAt: use.usedAt,
      key: this.#kind.keyOf(use.team, use.id),
    }));
    // Another process may have written a later use.
    const stored = await getAll(this.#store, rows.map(({ key }) => key));
    const sets = rows.filter(({ usedAt }, at) => usedAt > Number(stored[at]?.value ?? -Infinity))
      .map(({ key, usedAt }) => ({ key, value: usedAt }));
    if (sets.length > 0) await this.#store.writer.commit({ sets });
    for (const { use, usedAt } of rows) use.writtenAt = usedAt;
  }
}

function nameOf(team: TeamId, id: string): string {
  return `${team} ${id}`;
}
