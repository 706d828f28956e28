/**
 * Reasons to refuse an expression.
 *
 * @module
 */

/** Refuses an expression: what is wrong, at which character, and what to write instead. */
export class Misuse extends Error {
  /** Name of the error in logs. */
  override readonly name = "Misuse";
  /** Position in the expression, in UTF-16 units from 0. */
  readonly at: number;
  /** Text to write instead; empty for no advice. */
  readonly advice: string;

  /**
   * Creates a refusal.
   *
   * @param message what is wrong, without a full stop
   * @param at position in the expression, in UTF-16 units from 0
   * @param advice what to write instead, without a full stop
   */
  constructor(message: string, at: number, advice = "") {
    super(message);
    this.at = at;
    this.advice = advice;
  }
}
