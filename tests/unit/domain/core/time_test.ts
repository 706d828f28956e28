import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { formatInstant, monthOf, parseInstant } from "../../../../domain/core/time.ts";

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const instants = fc.integer({ min: 0, max: LAST_MS });

Deno.test("decision 12: every spelling of one instant reads as the same instant", () => {
  const zone = fc.constantFrom("Z", "+00:00", "-00:00");
  const more = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 12 });
  fc.assert(fc.property(instants, zone, more, (ms, utc, digits) => {
    assertEquals(parseInstant(formatInstant(ms).replace("Z", digits + utc)), ms);
  }));
});

Deno.test("R19: every RFC 3339 offset is converted to UTC", () => {
  const offset = fc.tuple(fc.constantFrom(1, -1), fc.nat(23), fc.nat(59));
  fc.assert(fc.property(instants, offset, (ms, [sign, hours, minutes]) => {
    const local = ms + sign * (hours * 60 + minutes) * 60_000;
    if (local < 0 || local > LAST_MS) return;
    const zone = [hours, minutes].map((part) => String(part).padStart(2, "0")).join(":");
    const text = formatInstant(local).replace("Z", `${sign < 0 ? "-" : "+"}${zone}`);
    assertEquals(parseInstant(text), ms, text);
    assertEquals(parseInstant(text.replace("T", "t")), ms, text);
  }));
});

Deno.test("R19: lower-case t and z are accepted, and so are years outside UTC's range", () => {
  const noon = Date.UTC(2026, 0, 31, 12);
  for (const text of ["2026-01-31t12:00:00z", "2026-01-31T12:00:00z", "2026-01-31t12:00:00.000Z"]) {
    assertEquals(parseInstant(text), noon, text);
  }
  assertEquals(parseInstant("1969-12-31T23:30:00-01:00"), 1_800_000);
  assertEquals(parseInstant("1970-01-01T01:00:00+01:00"), 0);
  assertEquals(parseInstant("9999-12-31T23:59:59.999-00:00"), LAST_MS);
});

Deno.test("decision 12: a fraction is truncated to the millisecond, never rounded up", () => {
  const noon = Date.UTC(2026, 0, 31, 12);
  const fractions: Record<string, number> = {
    "": 0,
    ".1": 100,
    ".12": 120,
    ".123": 123,
    ".1239999": 123,
    ".9999999999": 999,
    ".0004": 0,
  };
  for (const [fraction, ms] of Object.entries(fractions)) {
    assertEquals(parseInstant(`2026-01-31T12:00:00${fraction}Z`), noon + ms, fraction);
  }
});

const REFUSED: Record<string, string> = {
  "no zone": "2026-01-31T12:00:00",
  "an offset without a colon": "2026-01-31T12:00:00+0000",
  "an offset of a day": "2026-01-31T12:00:00+24:00",
  "an offset of 60 minutes": "2026-01-31T12:00:00+01:60",
  "an offset into 1969": "1970-01-01T00:59:59+01:00",
  "an offset into the year 10000": "9999-12-31T23:00:00-01:00",
  "an offset of hours alone": "2026-01-31T12:00:00+01",
  "a zone by name": "2026-01-31T12:00:00CET",
  "30 February": "2026-02-30T12:00:00Z",
  "29 February of a common year": "2026-02-29T12:00:00Z",
  "29 February of 2100": "2100-02-29T12:00:00Z",
  "31 April": "2026-04-31T00:00:00Z",
  "month 13": "2026-13-01T00:00:00Z",
  "month 0": "2026-00-01T00:00:00Z",
  "day 0": "2026-01-00T00:00:00Z",
  "hour 24": "2026-01-01T24:00:00Z",
  "minute 60": "2026-01-01T00:60:00Z",
  "a leap second": "2016-12-31T23:59:60Z",
  "the year before 1970": "1969-12-31T23:59:59Z",
  "a two-digit year in disguise": "0070-01-01T00:00:00Z",
  "the year 10000": "10000-01-01T00:00:00Z",
  "an expanded year": "+002026-01-01T00:00:00Z",
  "a space for the T": "2026-01-31 12:00:00Z",
  "no seconds": "2026-01-31T12:00Z",
  "a date alone": "2026-01-31",
  "an empty fraction": "2026-01-31T12:00:00.Z",
  "a comma fraction": "2026-01-31T12:00:00,5Z",
  "surrounding space": " 2026-01-31T12:00:00Z",
  "a line break behind it": "2026-01-31T12:00:00Z\n",
  "digits of another script": "٢٠٢٦-01-31T12:00:00Z",
  "unix milliseconds": "1769860800000",
  "nothing": "",
};

Deno.test("decision 12: an instant that does not exist is refused", () => {
  for (const [what, text] of Object.entries(REFUSED)) assertEquals(parseInstant(text), null, what);
});

Deno.test("decision 12: the first and last instants and leap days are accepted", () => {
  assertEquals(parseInstant("1970-01-01T00:00:00Z"), 0);
  assertEquals(parseInstant("9999-12-31T23:59:59.999Z"), LAST_MS);
  assertEquals(parseInstant("2024-02-29T00:00:00Z"), Date.UTC(2024, 1, 29));
  assertEquals(parseInstant("2000-02-29T00:00:00Z"), Date.UTC(2000, 1, 29));
});

Deno.test("decision 12: a calendar day is accepted exactly when Date agrees that it exists", () => {
  const part = (max: number) => fc.integer({ min: 0, max });
  fc.assert(fc.property(part(9999), part(14), part(33), (year, month, day) => {
    const pad = (value: number, width = 2) => String(value).padStart(width, "0");
    const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
    const days = new Date(0);
    days.setUTCFullYear(year, month, 0);
    const exists = year >= 1970 && month >= 1 && month <= 12 && day >= 1 &&
      day <= days.getUTCDate();
    assertEquals(parseInstant(`${date}T00:00:00Z`) !== null, exists, date);
  }));
});

Deno.test("decision 12: parsing does not depend on what was parsed or written before", () => {
  const any = fc.integer({ min: -Date.UTC(2010), max: LAST_MS * 2 });
  const spoilt = fc.tuple(instants, fc.nat({ max: 24 }), fc.constantFrom(..."0269:.TZ-+ x١", ""))
    .map(([ms, at, unit]) => {
      const text = formatInstant(ms);
      return text.slice(0, at) + unit + text.slice(at + 1);
    });
  fc.assert(fc.property(any, spoilt, (before, text) => {
    formatInstant(0);
    const expected = parseInstant(text);
    const day = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
    formatInstant(Number.isNaN(day) ? before : day);
    assertEquals(parseInstant(text), expected);
    formatInstant(before);
    assertEquals(parseInstant(text), expected);
    const written = formatInstant(before);
    assertEquals(parseInstant(written) !== null, before >= 0 && before <= LAST_MS);
  }));
});

Deno.test("decision 12: an instant is written exactly as the runtime writes it", () => {
  fc.assert(fc.property(instants, fc.nat({ max: 86_400_000 }), (ms, later) => {
    for (const each of [ms, Math.min(LAST_MS, ms + later), ms]) {
      const text = new Date(each).toISOString();
      assertEquals([formatInstant(each), monthOf(each)], [text, text.slice(0, 7)]);
    }
  }));
});

Deno.test("decision 35: usage belongs to the UTC month of its arrival, to the millisecond", () => {
  assertEquals(monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999)), "2026-12");
  assertEquals(monthOf(Date.UTC(2027, 0, 1)), "2027-01");
});
