/**
 * Money as whole picodollars (1e-12 USD): totals are exact and never rounded.
 *
 * @module
 */
import { type ExactNumber, exactNumber } from "../core/raw_json.ts";

/** Amount in picodollars. */
export type Picodollars = bigint;

const DECIMALS = 12;

/**
 * Converts dollars from JSON by their decimal digits: 0.1 is exactly a tenth.
 *
 * Digits beyond the twelfth decimal come from floating-point noise and are rounded half up.
 *
 * @param usd finite and not negative (decision 34)
 */
export function picodollars(usd: number): Picodollars {
  return picodollarsOf(usd.toString());
}

/** Converts dollars from their decimal text, as {@link picodollars} does. */
export function picodollarsOf(usd: string): Picodollars {
  const [mantissa = "0", exponent = "0"] = usd.split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const digits = BigInt(whole + fraction);
  const shift = DECIMALS - fraction.length + Number(exponent);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor / 2n) / divisor;
}

/** Amounts below this are exact as a JavaScript number, which serializes ten times as fast. */
const PLAIN_BELOW = 10n ** 15n;

/** Converts an amount to dollars for JSON, exact to the picodollar. */
export function dollars(amount: Picodollars): ExactNumber | number {
  if (amount >= 0n && amount < PLAIN_BELOW) return Number(decimals(amount));
  return exactNumber(amount < 0n ? `-${dollarsText(-amount)}` : dollarsText(amount));
}

/** Formats an amount in dollars as decimal text, exact to the picodollar, without trailing zeros. */
export function dollarsText(amount: Picodollars): string {
  return decimals(amount).replace(/\.?0+$/, "");
}

/** Formats a non-negative amount with all decimals. */
function decimals(amount: Picodollars): string {
  const text = amount.toString().padStart(DECIMALS + 1, "0");
  return `${text.slice(0, -DECIMALS)}.${text.slice(-DECIMALS)}`;
}
