import { assertEquals } from "@std/assert";
import { nightOf } from "../../../../domain/retention/retention.ts";

Deno.test("decision 40: a night begins at 02:00 UTC, across month ends, leap days and years", () => {
  const nights: readonly [string, string][] = [
    ["2026-11-21T02:00:00.000Z", "2026-11-21"],
    ["2026-11-21T01:59:59.999Z", "2026-11-20"],
    ["2026-11-21T23:59:59.999Z", "2026-11-21"],
    ["2026-11-22T00:00:00.000Z", "2026-11-21"],
    ["2026-12-01T01:00:00.000Z", "2026-11-30"],
    ["2027-01-01T01:59:59.999Z", "2026-12-31"],
    ["2027-01-01T02:00:00.000Z", "2027-01-01"],
    ["2028-03-01T00:30:00.000Z", "2028-02-29"],
    ["2027-03-01T00:30:00.000Z", "2027-02-28"],
  ];
  for (const [instant, night] of nights) assertEquals(nightOf(Date.parse(instant)), night, instant);
});
