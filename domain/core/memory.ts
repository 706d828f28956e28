/**
 * The memory budget: how many bytes each cache, queue and set of bodies or answers may hold.
 *
 * `RUNLEDGER_MEMORY_MB` is the resident size that the process aims for. The shares below are at most half
 * of it together; the other half is the runtime, the code and the work under way.
 *
 * @module
 */

/** Target resident size of the process in megabytes, and what may be set. */
export const MEMORY_MB = { default: 600, min: 256, max: 65_536 } as const;

const BYTES_PER_MB = 1_000_000;

/** Shares of the target by holder, in thousandths. Their sum is at most 500. */
export const MEMORY_SHARES = {
  /** Request bodies that have arrived in part or whole and are not parsed yet. */
  bodies: 75,
  /** Answers that clients have not taken yet. */
  answers: 70,
  /** Writes that wait for their commit. */
  writes: 65,
  /** Ids of the events of live runs. */
  ledgers: 55,
  /** Openings of runs that a heartbeat began. */
  openings: 25,
  /** Ids of runs opened or closed recently. */
  recent_ids: 30,
  /** Roll-ups of days that did not change. */
  rollup_days: 40,
  /** Roll-ups of teams whose runs are being aggregated, and up to where their runs were. */
  rollup_teams: 30,
  /** Rate cards and the model names they were asked for. */
  rate_cards: 30,
  /** Credentials that worked recently, and when they were used. */
  credentials: 10,
  /** Agents that are known to be in use, and what their runs add up to. */
  agents: 15,
  /** Request-rate and byte-rate buckets of teams. */
  rate_buckets: 20,
  /** What is counted of each team's requests. */
  metrics: 10,
  /** Refusals that are counted and not written yet. */
  refusals: 5,
  /** Text waiting for clients of live streams. */
  live: 10,
  /** Log lines that wait to be written. */
  log: 5,
  /** Everything else with a fixed bound on its count: sessions, failed addresses, job names. */
  other: 5,
} as const;

/** Who holds memory. */
export type MemoryShare = keyof typeof MEMORY_SHARES;

/** What one holder holds now, and the most it may hold. Bytes. */
export interface MemoryUse {
  /** Its share. */
  readonly share: MemoryShare;
  /** Bytes held now. */
  readonly bytes: number;
  /** The most bytes it may hold. */
  readonly bytesMax: number;
}

/** The budget of one process, and everybody who holds a part of it. */
export class Memory {
  /** Bytes that the process aims for, resident. */
  readonly targetBytes: number;
  readonly #holders: { readonly share: MemoryShare; readonly bytes: () => number }[] = [];

  /** Creates a budget without holders. */
  constructor(targetMb: number = MEMORY_MB.default) {
    this.targetBytes = targetMb * BYTES_PER_MB;
  }

  /** Returns the most bytes a holder may hold. */
  bytesMax(share: MemoryShare): number {
    return Math.floor(this.targetBytes * MEMORY_SHARES[share] / 1_000);
  }

  /** Registers a holder, so that metrics and tests see what it holds. */
  register(share: MemoryShare, bytes: () => number): void {
    this.#holders.push({ share, bytes });
  }

  /** Returns the use of every registered share, by name. */
  uses(): MemoryUse[] {
    const held = new Map<MemoryShare, number>();
    for (const { share, bytes } of this.#holders) {
      held.set(share, (held.get(share) ?? 0) + bytes());
    }
    return Array.from(held, ([share, bytes]) => ({ share, bytes, bytesMax: this.bytesMax(share) }));
  }
}
