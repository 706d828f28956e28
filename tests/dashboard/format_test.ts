/** Formatting of numbers, amounts and times. */
import { assertEquals } from "@std/assert";
import { exactText, instantText } from "../../routes/dashboard/assets/time.js";
import { moneyText, percentText } from "../../routes/dashboard/components/format.ts";

Deno.test("a share is shown as 0% or 100% only if it is exact", () => {
  const shares: readonly (readonly [number | bigint, number | bigint, string])[] = [
    [0, 10, "0%"],
    [4_113, 25_000_000, "< 1%"],
    [1, 100, "1%"],
    [999, 1_000, "> 99%"],
    [1_000n, 1_000n, "100%"],
    [6, 5, "120%"],
    [0, Infinity, "0%"],
    [0n, 0n, "–"],
    [5, 0, "–"],
  ];
  for (const [part, all, text] of shares) assertEquals(percentText(part, all), text);
});

Deno.test("an amount has 4 decimals, and one that is not zero is never shown as zero", () => {
  const amounts: readonly (readonly [bigint, string])[] = [
    [0n, "$0.0000"],
    [1n, "<$0.0001"],
    [49_999_999n, "<$0.0001"],
    [50_000_000n, "$0.0001"],
    [8_249_999_999n, "$0.0082"],
    [999_999_999_999n, "$1.0000"],
    [1_234_500_000_000_000n, "$1,234.5000"],
    [-8_200_000_000n, "−$0.0082"],
    [-1n, "−<$0.0001"],
  ];
  for (const [amount, text] of amounts) assertEquals(moneyText(amount), text);
});

Deno.test("an instant names the day in its zone", () => {
  const now = Date.parse("2026-03-29T12:00:00Z");
  const texts: readonly (readonly [string, string, string])[] = [
    ["2026-03-29T11:59:59Z", "UTC", "today 11:59"],
    ["2026-03-28T23:30:00Z", "Europe/Berlin", "today 00:30"],
    // The night in which the clocks change.
    ["2026-03-29T01:30:00Z", "Europe/Berlin", "today 03:30"],
    ["2026-03-28T00:00:00Z", "UTC", "yesterday 00:00"],
    ["2026-03-27T00:00:00Z", "UTC", "Mar 27, 00:00"],
    ["2026-01-01T00:30:00Z", "America/New_York", "Dec 31 2025"],
    ["2026-03-30T00:00:00Z", "UTC", "Mar 30, 00:00"],
    ["2027-01-02T00:00:00Z", "UTC", "Jan 2 2027"],
  ];
  for (const [at, zone, text] of texts) assertEquals(instantText(Date.parse(at), now, zone), text);
  const exact = "2026-03-29 14:05:06 Europe/Berlin";
  assertEquals(exactText(Date.parse("2026-03-29T12:05:06Z"), "Europe/Berlin"), exact);
});

Deno.test("made-up spellings of time zones do not push out the one in use for long", () => {
  const spellings = Array.from(
    { length: 1_500 },
    (_, n) => [..."america/new_york"].map((c, at) => n >> at & 1 ? c.toUpperCase() : c).join(""),
  );
  for (const zone of spellings) instantText(0, 0, zone);
  const { DateTimeFormat } = Intl;
  let made = 0;
  Intl.DateTimeFormat = function (...args: Parameters<typeof Intl.DateTimeFormat>) {
    made++;
    return new DateTimeFormat(...args);
  } as typeof Intl.DateTimeFormat;
  try {
    for (let n = 0; n < 10; n++) instantText(n, n, "Asia/Tokyo");
  } finally {
    Intl.DateTimeFormat = DateTimeFormat;
  }
  assertEquals(made, 1);
});
