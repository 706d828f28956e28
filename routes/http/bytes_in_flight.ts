/**
 * Bytes of bodies or responses in flight, bounded in total and per team. When memory runs out, the team
 * that holds the most gives up its oldest transfer.
 */

/** Share of the limit that one team may hold. */
const TEAM_PART = 1 / 4;

/** Share of the limit that one body counts for at most: two leave a quarter for all others. */
const LARGEST_PART = 3 / 8;

interface TeamBytes {
  bytes: number;
  /** The one transfer that may exceed the team's share; all others of the team together may not. */
  largest: Flight | null;
  /** Transfers that can still be given up, oldest first. */
  readonly open: Set<Flight>;
}

/** One body or response in flight. Dispose of it when the transfer is complete. */
export class Flight implements Disposable {
  /** Bytes that the transfer holds. */
  bytes = 0;
  /** True once the bytes were given up for another team. */
  isGivenUp = false;
  readonly #all: BytesInFlight;
  readonly #team: string;
  readonly #giveUp: () => void;

  /** Creates a transfer that holds no bytes; call {@link BytesInFlight.begin} instead. */
  constructor(all: BytesInFlight, team: string, giveUp: () => void) {
    this.#all = all;
    this.#team = team;
    this.#giveUp = giveUp;
  }

  /** Takes bytes; false, taking none, when there is not enough memory. */
  take(bytes: number): boolean {
    return !this.isGivenUp && this.#all.take(this, this.#team, bytes);
  }

  /** Keeps the bytes until disposal: the transfer can no longer be given up. */
  keep(): void {
    this.#all.close(this, this.#team);
  }

  /** Gives up the bytes, and notifies the owner. */
  giveUp(): void {
    this[Symbol.dispose]();
    this.isGivenUp = true;
    this.#giveUp();
  }

  /** Releases the bytes. */
  [Symbol.dispose](): void {
    this.#all.give(this, this.#team);
  }
}

/** Counts bytes in flight. */
export class BytesInFlight {
  readonly #max: number;
  readonly #teams = new Map<string, TeamBytes>();
  #bytes = 0;

  /** Creates a counter that admits up to `bytesMax` bytes. */
  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  /** Maximum bytes that one body counts for, however large it is. */
  get largestBytes(): number {
    return Math.floor(this.#max * LARGEST_PART);
  }

  /** Bytes currently in flight. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Starts a transfer that holds no bytes yet.
   *
   * @param giveUp is called to end the transfer when another team needs its bytes
   */
  begin(team: string, giveUp: () => void): Flight {
    return new Flight(this, team, giveUp);
  }

  /** Takes bytes for a transfer; see {@link Flight.take}. */
  take(flight: Flight, team: string, bytes: number): boolean {
    const own = this.#teams.get(team) ?? { bytes: 0, largest: null, open: new Set() };
    const teamMax = this.#max * TEAM_PART;
    // One transfer may exceed the team's share: otherwise a larger one would never be admitted.
    const isLargest = own.largest === flight ||
      own.largest === null && flight.bytes + bytes > teamMax;
    const otherBytes = own.bytes - (own.largest?.bytes ?? 0);
    if (!isLargest && otherBytes + bytes > teamMax) return false;
    while (this.#bytes + bytes > this.#max) {
      if (!this.#giveUpOldest(own.bytes + bytes)) return false;
    }
    this.#teams.set(team, own);
    if (isLargest) own.largest = flight;
    if (flight.bytes === 0) own.open.add(flight);
    flight.bytes += bytes;
    own.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  /** Gives up the oldest transfer of the team that holds the most, if that exceeds `thanBytes`. */
  #giveUpOldest(thanBytes: number): boolean {
    let most: TeamBytes | null = null;
    for (const team of this.#teams.values()) {
      if (team.open.size > 0 && team.bytes > (most?.bytes ?? thanBytes)) most = team;
    }
    const [oldest] = most?.open ?? [];
    oldest?.giveUp();
    return oldest !== undefined;
  }

  /** Keeps bytes counted; see {@link Flight.keep}. */
  close(flight: Flight, team: string): void {
    this.#teams.get(team)?.open.delete(flight);
  }

  /** Releases a transfer's bytes. */
  give(flight: Flight, team: string): void {
    const own = this.#teams.get(team);
    if (own === undefined || flight.bytes === 0) return;
    own.open.delete(flight);
    if (own.largest === flight) own.largest = null;
    own.bytes -= flight.bytes;
    this.#bytes -= flight.bytes;
    flight.bytes = 0;
    if (own.bytes === 0) this.#teams.delete(team);
  }
}
