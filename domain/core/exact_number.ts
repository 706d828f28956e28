/**
 * JSON numbers with all their digits, including values that no JavaScript number can hold (R16).
 *
 * @module
 */

/** Number that `JSON.stringify` writes with exactly these digits. */
export interface ExactNumber {
  /** The digits. */
  readonly rawJSON: string;
}

/** `JSON.rawJSON`, which is missing from the runtime's types. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (digits: string) => ExactNumber };

/** Creates a number from decimal digits. */
export function exactNumber(digits: string): ExactNumber {
  return rawJSON(digits);
}

/** Creates a number from a count. */
export function exactCount(count: bigint): ExactNumber | number {
  return count <= Number.MAX_SAFE_INTEGER ? Number(count) : exactNumber(String(count));
}
