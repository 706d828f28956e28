import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { isRegion, judgeId, uuid7Hex } from "../../../../domain/core/ids.ts";

const hex = (digits: number) =>
  fc.string({
    unit: fc.constantFrom(..."0123456789abcdef"),
    minLength: digits,
    maxLength: digits,
  });
const prefix = fc.constantFrom("run" as const, "evt" as const);
const letters = fc.string({
  unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"),
  minLength: 2,
  maxLength: 2,
});

Deno.test("decision 5: an id that matches the pattern is valid exactly when its region exists", () => {
  fc.assert(fc.property(prefix, letters, hex(32), (kind, region, digits) => {
    const expected = region === "eu" || region === "us" ? "valid" : "unknown_region";
    assertEquals(judgeId(kind, `${kind}_${region}_${digits}`), expected);
  }));
});

const GOOD = `run_eu_${"a".repeat(32)}`;
const BAD_IDS: Record<string, unknown> = {
  "nothing": "",
  "an absent value": undefined,
  "null": null,
  "a number": 7,
  "a list that reads like an id": [GOOD],
  "another prefix": GOOD.replace("run", "evt"),
  "no prefix": GOOD.slice(3),
  "a longer prefix": `x${GOOD}`,
  "upper-case hex": GOOD.toUpperCase(),
  "an upper-case region": GOOD.replace("eu", "EU"),
  "31 digits": GOOD.slice(0, -1),
  "33 digits": `${GOOD}a`,
  "a digit that is no hex": GOOD.replace(/a$/, "g"),
  "a line break behind it": `${GOOD}\n`,
  "a line break before it": `\n${GOOD}`,
  "dashes of a UUID": "run_eu_01890a5d-ac96-774b-bcce-b302099a8057",
  "an unknown region and 31 digits": `run_xx_${"a".repeat(31)}`,
  "a region of three letters": `run_eux_${"a".repeat(32)}`,
};

Deno.test("decision 5: an id that does not match the pattern is invalid_id, whatever its region", () => {
  for (const [what, value] of Object.entries(BAD_IDS)) {
    assertEquals(judgeId("run", value), "invalid_id", what);
  }
});

Deno.test("decision 5: an id with one changed UTF-16 unit is judged by the pattern", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 1 }),
    fc.constantFrom("\u0130", "\u0161", "\uff41", ""),
  );
  fc.assert(fc.property(hex(32), fc.nat({ max: 39 }), unit, (digits, at, other) => {
    const id = `run_us_${digits}`;
    const text = id.slice(0, at) + other + id.slice(at + 1);
    assertEquals(judgeId("run", text) === "valid", /^run_(eu|us)_[0-9a-f]{32}$/.test(text));
  }));
});

Deno.test("a region is eu or us, never an inherited property name", () => {
  assertEquals(["eu", "us", "EU", "", "constructor", undefined].map(isRegion), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
const instants = fc.integer({ min: 0, max: 253_402_300_799_999 });

Deno.test("decision 33: a minted id is a UUIDv7 of the given instant", () => {
  fc.assert(fc.property(instants, tenBytes, (nowMs, random) => {
    const id = uuid7Hex(nowMs, random);
    assertMatch(id, /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    assertEquals(parseInt(id.slice(0, 12), 16), nowMs);
    assertEquals(judgeId("run", `run_eu_${id}`), "valid");
  }));
});

Deno.test("decision 33: a minted id has 74 random bits, as in a UUIDv7", () => {
  const idWith = (bit: number) => {
    const random = new Uint8Array(10);
    if (bit < 80) random[bit >> 3] = 1 << (bit & 7);
    return uuid7Hex(0, random);
  };
  const none = idWith(80);
  const changed = Array.from({ length: 80 }, (_, bit) => idWith(bit)).filter((id) => id !== none);
  assertEquals([changed.length, new Set(changed).size], [74, 74]);
});
