/**
 * Silences: times in which the messages about some incidents are not sent (decision 78).
 *
 * @module
 */
import type { ConfigObject } from "../config/objects.ts";

/** Maximum milliseconds from the `PUT` of a silence to its end. */
export const SILENCE_MS_MAX = 30 * 86_400_000;

/** Settings of a silence. */
export interface SilenceSettings {
  /** The messages that it mutes; an empty list matches all. */
  readonly match: {
    /** Slugs of rules. */
    readonly rules: readonly string[];
    /** Slugs of agents; `*` at the end matches any rest. */
    readonly agents: readonly string[];
    /** Ids of customers. */
    readonly customers: readonly string[];
  };
  /** Begin, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** End, exclusive, unix milliseconds. */
  readonly untilMs: number;
  /** Words of the user; null for none. */
  readonly comment: string | null;
}

/** Settings as sent; without a begin a new silence begins at once, and another keeps its begin. */
export interface SilencePut extends Omit<SilenceSettings, "fromMs"> {
  /** Begin, inclusive, unix milliseconds; null for none. */
  readonly fromMs: number | null;
}

/** A silence. */
export type Silence = ConfigObject<SilenceSettings>;
