/** Valid and subtly invalid ids, instants, JSON values and texts. */
import type { Random } from "../../../tools/random.ts";

const long = (unit: string, count: number) => JSON.stringify(unit.repeat(count));

/** JSON values of every type, at the limits of the field rules. */
const ODD_JSON = [
  ...["null", "true", "false", "[]", "[null]", "[[]]", "{}", '{"a":{"b":[1]}}', '[{"id":1}]'],
  ...["0", "-0", "1", "-1", "1.5", "1e3", "1e-400", "1e400", "-1e400", "0.0000001", "1000001"],
  ...["9007199254740991", "9007199254740992", "123456789012345678901234567890", "60", "86401"],
  ...['""', '" "', '"x"', '" x"', '"x\\t"', '"\\u0000"', '"a\\nb"', '"\\u0085"', '"\\u2028"'],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\u00e9"', '"e\\u0301"', '"\\ufeff"'],
  ...['"__proto__"', '"constructor"', '"toString"', '"null"', '"NaN"', '"1"', '"true"', '"-1"'],
  ...['{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{}}}', '{"":1}', '{"a":1}'],
  ...['"ok"', '"success"', '"fail"', '"OK"', '"start"', '"running"', '"api_key"', '["ingest"]'],
  ...[long("x", 20), long("x", 51), long("x", 129), long("x", 257), long("\u{1f600}", 129)],
  ...[long("x", 16_385), "[".repeat(63) + "]".repeat(63), "[".repeat(65) + "]".repeat(65)],
] as const;

export function oddJson(random: Random): string {
  return random.pick(ODD_JSON as unknown as [string, ...string[]]);
}

const ODD_DIGITS = ["g", "G", "A", "\u0661", "\uff10", " ", "-", "\n", "\0", "%", "."] as const;

export function oddId(random: Random, id: string): string {
  const at = random.int(0, id.length - 1);
  return random.pick<() => string>([
    () => id.slice(0, at),
    () => id.slice(0, at) + id.slice(at + 1),
    () => id.slice(0, at) + random.pick(ODD_DIGITS) + id.slice(at + 1),
    () => id.slice(0, at) + random.pick(ODD_DIGITS) + id.slice(at),
    () => id.toUpperCase(),
    () => id.replace("_eu_", random.pick(["_us_", "_xx_", "_EU_", "_e_", "__", "_eu__", "-eu-"])),
    () => random.pick(["evt", "run", "key", "apk", "Run", "", "runs"]) + id.slice(3),
    () => random.pick([" ", "\t", "\n", "\ufeff", "'"]) + id,
    () => id + random.pick([" ", "\n", "\0", "0", "_", "'", '"', "/", "/..", ";", "?", "#"]),
    () => id + id,
    () => `${id.slice(0, 7)}${"0".repeat(random.int(0, 300))}`,
  ])();
}

const ODD_INSTANTS = [
  ...["2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01t00:00:00z", "now"],
  ...["2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "20260101T000000Z"],
  ...["2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01T00:60:00Z", "2026-W01-1", "Z"],
  ...["2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "1969-12-31T23:59:59Z", "0", "1767225600"],
  ...["10000-01-01T00:00:00Z", "-002026-01-01T00:00:00Z", "+2026-01-01T00:00:00Z", "T", ""],
  ...["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00-00:30", "2026-01-01T00:00:00.Z"],
  ...["2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00.5Z"],
  ...["2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.1234567890123Z", "2026-1-1T0:0:0Z"],
  ...["9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "2024-02-29T12:00:00Z"],
  ...["\u0662026-01-01T00:00:00Z", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n"],
] as const;

export function oddInstant(random: Random): string {
  const text = random.pick(ODD_INSTANTS as unknown as [string, ...string[]]);
  if (random.chance(0.7) || text === "") return text;
  const at = random.int(0, text.length - 1);
  return text.slice(0, at) + random.pick(ODD_DIGITS) + text.slice(at + 1);
}

/** Query values as sent, some of them not percent-encoded UTF-8. */
const ODD_QUERY_VALUES = [
  ...["", "%", "%z", "%zz", "%FF", "%C0%AF", "%ED%A0%80", "%E2%82", "%00", "%0A", "%250", "+", "="],
  ...["0", "-1", "1", "1.5", "1e3", "0x10", "1001", "99999", "%D9%A1", "all", "null", "[]", "a,b"],
  ...["2026-02-30", "9999-12-31", "1970-01-01", "2026-01-01T00:00:00+00:00", "2026-13", "2027-01"],
  ...["__proto__", "constructor", "(unattributed)", "%F0%9F%98%80", "AAAA", "_w", "YWdlbnQgIGE"],
  ...["x".repeat(129), "x".repeat(257), "x".repeat(5_000), "%F0%9F%98%80".repeat(129)],
] as const;

export function oddQueryValue(random: Random): string {
  return random.pick(ODD_QUERY_VALUES as unknown as [string, ...string[]]);
}

const encoder = new TextEncoder();
const ODD_CHARS = [
  ...[..."{}[]\",:\\'/*#0e-."],
  ...["\0", "\n", "\r", "\t", "\u2028", "\ufeff", "\u00a0", "\x7f", "\u{1f600}", "\\u"],
];

const ODD_NUMBERS = ["NaN", "01", "+1", "1.", ".5", "0x1", "1e", "--1"] as const;

/** Damages JSON text; the result is usually not JSON. */
export function damagedJson(random: Random, text: string): Uint8Array {
  const at = random.int(0, text.length);
  const to = Math.min(text.length, at + random.int(1, 12));
  const char = random.pick(ODD_CHARS as [string, ...string[]]);
  const damaged = random.pick<() => string>([
    () => text.slice(0, at),
    () => text.slice(at),
    () => text.slice(0, at) + text.slice(to),
    () => text.slice(0, to) + text.slice(at),
    () => text.slice(0, at) + char + text.slice(at),
    () => text.slice(0, at) + char + text.slice(at + 1),
    () => text + char,
    () => char + text,
    () => `[${text}]`,
    () => text + text,
    () => text.replaceAll('"', "'"),
    () => text.replace("}", ",}"),
    () => `/* */${text}`,
    () => `{"a":`.repeat(random.int(1, 2_000)) + text,
    () => `${"[".repeat(random.int(1, 100_000))}`,
    () => text.replace(/:/, () => `:${random.pick(ODD_NUMBERS)}`),
    () => " ".repeat(random.int(1, 2_000)) + text,
  ])();
  const bytes = encoder.encode(damaged);
  // An invalid UTF-8 byte at any position.
  if (random.chance(0.2) && bytes.length > 0) bytes[random.int(0, bytes.length - 1)] = 0xff;
  return bytes;
}
