/**
 * Bytes on their way, of bodies or of answers: bounded in all and for each team, and given up by the team
 * that holds the most when another one needs them.
 */

/** Part of all bytes that one team may hold. */
const TEAM_PART = 1 / 4;

/** Part of all bytes that one body is counted with at most: two leave a quarter for all others. */
const LARGEST_PART = 3 / 8;

/** The bytes of one team. */
interface TeamBytes {
  bytes: number;
  /** The one that is larger than the team's part; the others have that part for themselves. */
  largest: Flight | null;
  /** What can still be given up, the oldest first. */
  readonly open: Set<Flight>;
}

/** One body or answer on its way. Dispose of it when it has arrived. */
export class Flight implements Disposable {
  /** Bytes that it holds. */
  bytes = 0;
  /** Set once its bytes were given up for another team. */
  isGivenUp = false;
  readonly #all: BytesInFlight;
  readonly #team: string;
  readonly #giveUp: () => void;

  /** Creates one that holds nothing; {@link BytesInFlight.begin} is the way to it. */
  constructor(all: BytesInFlight, team: string, giveUp: () => void) {
    this.#all = all;
    this.#team = team;
    this.#giveUp = giveUp;
  }

  /** Takes bytes; false when there is no room for them, and then nothing is taken. */
  take(bytes: number): boolean {
    return !this.isGivenUp && this.#all.take(this, this.#team, bytes);
  }

  /** Keeps its bytes until it is disposed of: from now on it cannot be given up. */
  keep(): void {
    this.#all.close(this, this.#team);
  }

  /** Gives its bytes up, and calls back who began it. */
  giveUp(): void {
    this[Symbol.dispose]();
    this.isGivenUp = true;
    this.#giveUp();
  }

  /** Gives its bytes back. */
  [Symbol.dispose](): void {
    this.#all.give(this, this.#team);
  }
}

/** Counts bytes on their way. */
export class BytesInFlight {
  readonly #max: number;
  readonly #teams = new Map<string, TeamBytes>();
  #bytes = 0;

  /** Creates a count of nothing that admits up to so many bytes. */
  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  /** The most bytes that one body is to take, however large it is. */
  get largestBytes(): number {
    return Math.floor(this.#max * LARGEST_PART);
  }

  /** Bytes on their way now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Begins something that holds nothing yet.
   *
   * @param giveUp ends it: another team needs its bytes
   */
  begin(team: string, giveUp: () => void): Flight {
    return new Flight(this, team, giveUp);
  }

  /** Counts bytes in; see {@link Flight.take}. */
  take(flight: Flight, team: string, bytes: number): boolean {
    const own = this.#teams.get(team) ?? { bytes: 0, largest: null, open: new Set() };
    const part = this.#max * TEAM_PART;
    // One of any size may pass: what is larger than a team's part would never do so otherwise.
    const isLargest = own.largest === flight ||
      own.largest === null && flight.bytes + bytes > part;
    const others = own.bytes - (own.largest?.bytes ?? 0);
    if (!isLargest && others + bytes > part) return false;
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

  /** Gives up the oldest of the team that holds the most, if that is more than so many bytes. */
  #giveUpOldest(thanBytes: number): boolean {
    let most: TeamBytes | null = null;
    for (const each of this.#teams.values()) {
      if (each.open.size > 0 && each.bytes > (most?.bytes ?? thanBytes)) most = each;
    }
    const [oldest] = most?.open ?? [];
    oldest?.giveUp();
    return oldest !== undefined;
  }

  /** Keeps bytes counted; see {@link Flight.keep}. */
  close(flight: Flight, team: string): void {
    this.#teams.get(team)?.open.delete(flight);
  }

  /** Counts bytes out. */
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
