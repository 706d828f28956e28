/**
 * Schedules of monitors: a period, or a cron expression in a time zone (decision 108).
 *
 * @module
 */

/** When an agent is expected: each period after its last arrival, or at the slots of a cron line. */
export type Schedule =
  | {
    /** Seconds from one arrival to the next. */
    readonly everySeconds: number;
  }
  | {
    /** Cron expression of 5 or 6 fields, or a nickname such as `@daily`. */
    readonly cron: string;
    /** IANA time zone. */
    readonly tz: string;
  };
