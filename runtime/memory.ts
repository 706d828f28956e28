/**
 * The memory budget: maximum bytes of each cache, queue and set of bodies or responses.
 *
 * `RUNLEDGER_MEMORY_MB` is the target resident size of the process. The shares below total at most
 * half of it; the other half is for the runtime, the code and work in progress.
 *
 * @module
 */

/** Target resident size of the process in megabytes: default and allowed range. */
export const MEMORY_MB = { default: 600, min: 256, max: 65_536 } as const;

const BYTES_PER_MB = 1_000_000;

/** Shares of the target by holder, in thousandths. They total at most 500. */
export const MEMORY_SHARES = {
  /** Request bodies, partial or complete, that are not parsed yet. */
  bodies: 70,
  /** Responses that clients have not read yet. */
  answers: 65,
  /** Writes waiting for their commit. */
  writes: 60,
  /** Event ids of live runs. */
  ledgers: 50,
  /** Heads of runs that wait for the worker, and of open runs. */
  heads: 50,
  /** Ids of recently opened or closed runs. */
  recent_ids: 25,
  /** Roll-ups of days without changes. */
  rollup_days: 25,
  /** Rows of teams whose runs are being aggregated, such as roll-ups and alert instances. */
  team_rows: 30,
  /** Rate cards and the model names looked up on them. */
  rate_cards: 25,
  /** Recently verified credentials and their last use. */
  credentials: 10,
  /** Rules, channels, silences and compiled checks of teams whose runs are being aggregated. */
  configs: 10,
  /** Compiled patterns, parsed cron lines, and monitors that pings ask for. */
  memos: 10,
  /** Active agents. */
  agents: 7,
  /** Versions up to which runs are projected. */
  projected: 8,
  /** Request-rate and byte-rate buckets of teams. */
  rate_buckets: 20,
  /** Request metrics of each team. */
  metrics: 10,
  /** Counted refusals that are not written yet. */
  refusals: 5,
  /** Text buffered for clients of live streams. */
  live: 10,
  /** Log lines waiting to be written. */
  log: 5,
  /** Everything else with a bounded count: sessions, failed addresses, job names. */
  other: 5,
} as const;

/** Name of a share. */
export type MemoryShare = keyof typeof MEMORY_SHARES;

/** Current and maximum bytes of one share. */
export interface MemoryUse {
  /** The share. */
  readonly share: MemoryShare;
  /** Bytes held now. */
  readonly bytes: number;
  /** Maximum bytes. */
  readonly bytesMax: number;
}

/** Memory budget of one process, with its registered holders. */
export class Memory {
  /** Target resident size of the process in bytes. */
  readonly #targetBytes: number;
  readonly #holders: { readonly share: MemoryShare; readonly bytes: () => number }[] = [];

  /** Creates a budget without holders. */
  constructor(targetMb: number = MEMORY_MB.default) {
    this.#targetBytes = targetMb * BYTES_PER_MB;
  }

  /** Returns the maximum bytes of a share. */
  bytesMax(share: MemoryShare): number {
    return Math.floor(this.#targetBytes * MEMORY_SHARES[share] / 1_000);
  }

  /** Registers a holder, so that metrics and tests see its usage. */
  register(share: MemoryShare, bytes: () => number): void {
    this.#holders.push({ share, bytes });
  }

  /** Returns the use of every registered share, by name. */
  uses(): MemoryUse[] {
    const bytesByShare = new Map<MemoryShare, number>();
    for (const { share, bytes } of this.#holders) {
      bytesByShare.set(share, (bytesByShare.get(share) ?? 0) + bytes());
    }
    return Array.from(bytesByShare, ([share, bytes]) => ({
      share,
      bytes,
      bytesMax: this.bytesMax(share),
    }));
  }
}
