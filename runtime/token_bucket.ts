/**
 * Token bucket: a burst of `burst` requests, then `sustained` requests per second (decision 36).
 *
 * Levels are integers: a token is a million units and time advances in whole microseconds, so a bucket
 * stays exact after any number of requests.
 *
 * @module
 */

import type { Rate } from "../domain/teams/plans.ts";

/** Units of a token. One token per second is one unit per microsecond. */
export const UNITS_PER_TOKEN = 1_000_000;
const US_PER_SECOND = 1_000_000;

/** Window of the mean rate in seconds (decision 37). */
export const MEAN_SECONDS = 10;

/** Tokens of one team. A new bucket is full. */
export class TokenBucket {
  #rate: Rate;
  #units: number;
  #atUs: number;
  /** Requests in each second of the window, accepted or refused, indexed by the second modulo ten. */
  readonly #requests: number[] = Array(MEAN_SECONDS).fill(0);
  #second: number;

  /**
   * Creates a full bucket.
   *
   * @param nowMs milliseconds of a monotonic clock, here and in all methods
   */
  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#units = rate.burst * UNITS_PER_TOKEN;
    this.#atUs = Math.round(nowMs * 1_000);
    this.#second = Math.floor(this.#atUs / US_PER_SECOND);
  }

  /** Current rate limit. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Takes one token for a request; returns false if none is left. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    this.#countRequest();
    if (this.#units < UNITS_PER_TOKEN) return false;
    this.#units -= UNITS_PER_TOKEN;
    return true;
  }

  /**
   * Takes one token for a request, possibly later.
   *
   * @param decide called with true if the request has its token; its result is returned
   */
  request<T>(nowMs: number, decide: (hasToken: boolean) => T): T | Promise<T> {
    return decide(this.take(nowMs));
  }

  /** Returns the whole tokens left at a time. */
  protected tokensAt(nowMs: number): number {
    this.#refill(nowMs);
    return Math.max(0, Math.floor(this.#units / UNITS_PER_TOKEN));
  }

  /** Debits the cost of a request beyond its first token; the level may fall below 0. */
  debit(tokens: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units -= Math.round(tokens * UNITS_PER_TOKEN);
  }

  /** Returns the milliseconds until the level is 0 or above; 0 without a debt. */
  debtMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#units >= 0 ? 0 : Math.ceil(-this.#units / this.#rate.sustained / 1_000);
  }

  /** Counts a request that is refused regardless of the level. */
  refuse(nowMs: number): false {
    this.#refill(nowMs);
    this.#countRequest();
    return false;
  }

  /** Lowers the level to at most `units`; a negative level is a debt that refills pay off. */
  lowerTo(units: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#units = Math.min(this.#units, units);
  }

  /** Whole tokens left after the last request. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#units / UNITS_PER_TOKEN));
  }

  /** Whole seconds, at least 1, from the last request until one more token is available. */
  get retryAfterSeconds(): number {
    const part = this.#units < 0 ? this.#units : this.#units % UNITS_PER_TOKEN;
    const missing = UNITS_PER_TOKEN - part;
    return Math.max(1, Math.ceil(missing / this.#rate.sustained / US_PER_SECOND));
  }

  /** True if the mean request rate, including refused requests, exceeds the sustained rate. */
  get exceedsMeanRate(): boolean {
    const total = this.#requests.reduce((sum, count) => sum + count, 0);
    return total > this.#rate.sustained * MEAN_SECONDS;
  }

  /** Changes the rate from the last request on; tokens above the new burst are lost. */
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
      for (let i = 0; i < passed; i++) this.#requests[(second - i) % MEAN_SECONDS] = 0;
      this.#second = second;
    }
    const at = second % MEAN_SECONDS;
    this.#requests[at] = (this.#requests[at] ?? 0) + 1;
  }
}
