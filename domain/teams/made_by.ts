/**
 * The author of a change.
 *
 * @module
 */

/** Who makes a change: identifier of the credential, and the time, for the audit log. */
export interface MadeBy {
  /** Identifier of the credential. */
  readonly by: string;
  /** Time, unix milliseconds. */
  readonly at: number;
}
