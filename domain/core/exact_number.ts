/**
 * Numbers of JSON with all of their digits, also those that no JavaScript number holds (R16).
 *
 * @module
 */

/** A number as `JSON.stringify` writes it: the very digits it was made of. */
export interface ExactNumber {
  /** The digits. */
  readonly rawJSON: string;
}

/** `JSON.rawJSON`, which the types of the runtime do not know yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (digits: string) => ExactNumber };

/** Makes a number of decimal digits. */
export function exactNumber(digits: string): ExactNumber {
  return rawJSON(digits);
}

/** Makes a number of a count. */
export function exactCount(count: bigint): ExactNumber | number {
  return count <= Number.MAX_SAFE_INTEGER ? Number(count) : exactNumber(String(count));
}
