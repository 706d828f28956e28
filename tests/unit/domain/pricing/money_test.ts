import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { exactCount } from "../../../../domain/core/raw_json.ts";
import { COST_USD_MAX } from "../../../../domain/core/limits.ts";
import { dollars, picodollars } from "../../../../domain/pricing/money.ts";

/** Picodollars of any amount a client may send (decision 34). */
const amounts = fc.bigInt({ min: 0n, max: BigInt(COST_USD_MAX) * 10n ** 12n });

/** Formats an amount as a decimal text with twelve places. */
function decimalText(amount: bigint): string {
  const digits = amount.toString().padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

/** Dollars as a client reads them. */
function written(amount: bigint): number {
  return JSON.parse(JSON.stringify(dollars(amount)));
}

Deno.test("R16: dollars in JSON have all digits, whatever the amount and sign", () => {
  const large = 10n ** 40n;
  const any = fc.oneof(
    fc.bigInt({ min: -large, max: large }),
    fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n }),
  );
  fc.assert(fc.property(any, (amount) => {
    const usd = dollars(amount);
    // A small amount is a number, which JSON may write with an exponent.
    const plain = typeof usd === "number" ? usd.toFixed(12).replace(/\.?0+$/, "") : usd;
    const text = `{"usd":${typeof plain === "string" ? plain : JSON.stringify(plain)}}`;
    const [, sign, whole = "", decimals = ""] =
      /^\{"usd":(-?)(\d+)(?:\.(\d{0,11}[1-9]))?\}$/.exec(text) ?? [];
    const read = BigInt(whole + decimals.padEnd(12, "0"));
    assertEquals(sign === "-" ? -read : read, amount);
  }));
});

Deno.test("R16: counts in JSON have all digits", () => {
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 90n }), (count) => {
    assertEquals(JSON.stringify([exactCount(count)]), `[${count}]`);
  }));
});

Deno.test("money: dollars of up to 12 decimals are returned as sent", () => {
  fc.assert(fc.property(amounts, (amount) => {
    const input = Number(decimalText(amount));
    assertEquals(written(picodollars(input)), input);
  }));
});

Deno.test("money: up to 15 digits are read exactly", () => {
  const digits = fc.bigInt({ min: 0n, max: 10n ** 15n - 1n });
  const places = fc.integer({ min: 0, max: 12 });
  fc.assert(fc.property(digits, places, (number, decimals) => {
    const amount = number * 10n ** BigInt(12 - decimals);
    fc.pre(amount <= BigInt(COST_USD_MAX) * 10n ** 12n);
    assertEquals(picodollars(Number(decimalText(amount))), amount);
  }));
});

const EXACT: readonly (readonly [usd: number, amount: bigint])[] = [
  [0, 0n],
  [-0, 0n],
  [0.1, 100_000_000_000n],
  [0.3, 300_000_000_000n],
  [1, 1_000_000_000_000n],
  [1e-12, 1n],
  [1e-7, 100_000n],
  [1.5e-7, 150_000n],
  [123.456, 123_456_000_000_000n],
  [999_999.999999, 999_999_999_999_000_000n],
  [1e6, 1_000_000_000_000_000_000n],
];

Deno.test("money: a tenth is exactly a tenth, where floating point would differ", () => {
  for (const [usd, amount] of EXACT) {
    assertEquals(picodollars(usd), amount, String(usd));
    assertEquals(written(amount), Math.abs(usd), String(usd));
  }
});

Deno.test("money: sums are exact where floating-point dollars drift", () => {
  const sum = Array.from({ length: 10 }, () => picodollars(0.1)).reduce((a, b) => a + b);
  assertEquals(written(sum), 1);
  assert(Array.from({ length: 10 }, () => 0.1).reduce((a, b) => a + b) !== 1);
});

Deno.test("money: digits beyond the twelfth decimal are rounded half up", () => {
  assertEquals(picodollars(4e-13), 0n);
  assertEquals(picodollars(5e-13), 1n);
  assertEquals(picodollars(1.4e-12), 1n);
  assertEquals(picodollars(1.5e-12), 2n);
  assertEquals(picodollars(Number.MIN_VALUE), 0n);
  // 0.1 + 0.2 is written 0.30000000000000004.
  assertEquals(picodollars(0.1 + 0.2), 300_000_000_000n);
});

Deno.test("money: reading keeps the order of amounts", () => {
  const usd = fc.double({ min: 0, max: COST_USD_MAX, noNaN: true });
  fc.assert(fc.property(usd, usd, (a, b) => {
    const [less, more] = a < b ? [a, b] : [b, a];
    assert(picodollars(less) <= picodollars(more));
  }));
});
