/**
 * Money as whole picodollars (1e-12 USD): sums are exact, nothing is rounded on the way.
 *
 * @module
 */
import { type ExactNumber, exactNumber } from "../core/exact_number.ts";

/** An amount in picodollars. */
export type Picodollars = bigint;

const DECIMALS = 12;

/**
 * Reads dollars as sent in JSON, at the decimal digits a person sees: 0.1 is exactly a tenth.
 *
 * Digits beyond the twelfth decimal, which only floating-point noise writes, are rounded half up.
 *
 * @param usd finite and not negative (decision 34)
 */
export function picodollars(usd: number): Picodollars {
  const [mantissa = "0", exponent = "0"] = usd.toString().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const digits = BigInt(whole + fraction);
  const shift = DECIMALS - fraction.length + Number(exponent);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor / 2n) / divisor;
}

/** An amount of fewer digits than this is exact as a number too, which is written ten times as fast. */
const PLAIN_BELOW = 10n ** 15n;

/** Writes an amount as the dollars that JSON shows, exact to the picodollar. */
export function dollars(amount: Picodollars): ExactNumber | number {
  if (amount >= 0n && amount < PLAIN_BELOW) return Number(decimals(amount));
  return exactNumber(amount < 0n ? `-${dollarsText(-amount)}` : dollarsText(amount));
}

/** Writes an amount in dollars as decimal text, exact to the picodollar and no longer than it needs. */
export function dollarsText(amount: Picodollars): string {
  return decimals(amount).replace(/\.?0+$/, "");
}

/** All decimals of an amount that is not negative. */
function decimals(amount: Picodollars): string {
  const text = amount.toString().padStart(DECIMALS + 1, "0");
  return `${text.slice(0, -DECIMALS)}.${text.slice(-DECIMALS)}`;
}
