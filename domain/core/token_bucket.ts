/**
 * A token bucket: `burst` requests at once, `sustained` a second for ever (decision 36).
 *
 * Levels are whole numbers: a token is a million units and time goes by in whole microseconds, so
 * that a bucket is exact after any number of requests.
 *
 * @module
 */

/** How fast somebody may ask. */
export interface Rate {
  /** Tokens that come back each second; more than 0. */
  readonly sustained: number;
  /** Tokens a full bucket holds; at least 1. */
  readonly burst: number;
}

/** Units of a token. A token a second is a unit a microsecond. */
export const UNITS_PER_TOKEN = 1_000_000;
const US_PER_SECOND = 1_000_000;

/** Seconds that the mean rate is taken over (decision 37). */
export const MEAN_SECONDS = 10;

/** One team's tokens. It begins full. */
export class TokenBucket {
  #rate: Rate;
  #units: number;
  #atUs: number;
  /** Requests of each of the last seconds, taken or refused, by the second's number modulo ten. */
  readonly #asked: number[] = Array(MEAN_SECONDS).fill(0);
  #second: number;

  /**
   * Creates a full bucket.
   *
   * @param nowMs milliseconds of a clock that never goes back, here and in {@link take}
   */
  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#units = rate.burst * UNITS_PER_TOKEN;
    this.#atUs = Math.round(nowMs * 1_000);
    this.#second = Math.floor(this.#atUs / US_PER_SECOND);
  }

  /** The rate it is filled at. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Takes one token for a request of any size; false where there is none. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    this.#countRequest();
    if (this.#units < UNITS_PER_TOKEN) return false;
    this.#units -= UNITS_PER_TOKEN;
    return true;
  }

  /** Takes what a request turned out to cost beyond its token; the level may fall below 0. */
  debit(tokens: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units -= Math.round(tokens * UNITS_PER_TOKEN);
  }

  /** Milliseconds until the level is 0 or above; 0 when it is. */
  debtMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#units >= 0 ? 0 : Math.ceil(-this.#units / this.#rate.sustained / 1_000);
  }

  /** Counts a request that is refused whatever is in the bucket. */
  refuse(nowMs: number): false {
    this.#refill(nowMs);
    this.#countRequest();
    return false;
  }

  /** Lowers the level to so many units where it is above; below 0 is a debt that the refill pays. */
  lowerTo(units: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units = Math.min(this.#units, units);
  }

  /** Whole tokens left when the last request had been judged. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#units / UNITS_PER_TOKEN));
  }

  /** Whole seconds, at least 1, from the last request until there is one token more. */
  get moreAfterSeconds(): number {
    const part = this.#units < 0 ? this.#units : this.#units % UNITS_PER_TOKEN;
    const missing = UNITS_PER_TOKEN - part;
    return Math.max(1, Math.ceil(missing / this.#rate.sustained / US_PER_SECOND));
  }

  /** Whether more than the sustained rate was asked for on average, refused requests included. */
  get askedTooMuch(): boolean {
    const sum = this.#asked.reduce((all, count) => all + count, 0);
    return sum > this.#rate.sustained * MEAN_SECONDS;
  }

  /** Fills at another rate from the last request on; what is above the new burst is lost. */
  changeRate(rate: Rate): void {
    this.#rate = rate;
    this.#units = Math.min(this.#units, rate.burst * UNITS_PER_TOKEN);
  }

  #refill(nowMs: number): void {
    const nowUs = Math.round(nowMs * 1_000);
    if (nowUs <= this.#atUs) return;
    const { sustained, burst } = this.#rate;
    const units = this.#units + (nowUs - this.#atUs) * sustained;
    this.#units = Math.min(units, burst * UNITS_PER_TOKEN);
    this.#atUs = nowUs;
  }

  #countRequest(): void {
    const second = Math.floor(this.#atUs / US_PER_SECOND);
    if (second !== this.#second) {
      const passed = Math.min(second - this.#second, MEAN_SECONDS);
      for (let i = 0; i < passed; i++) this.#asked[(second - i) % MEAN_SECONDS] = 0;
      this.#second = second;
    }
    const at = second % MEAN_SECONDS;
    this.#asked[at] = (this.#asked[at] ?? 0) + 1;
  }
}
