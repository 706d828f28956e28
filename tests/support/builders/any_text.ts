/** Texts of any characters, for property tests. */
import fc, { type StringSharedConstraints } from "fast-check";

/** Code units that stand for a character only in pairs. */
const SURROGATES = { from: 0xd800, count: 0x800 };
const LAST = 0x10ffff;

/** As the library's unit "binary", whose table of all characters takes seconds to build. */
const character = fc.nat({ max: LAST - SURROGATES.count }).map(
  (n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count),
  (text) => {
    const point = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (point === undefined || text !== String.fromCodePoint(point)) throw new TypeError("no one");
    return point < SURROGATES.from ? point : point - SURROGATES.count;
  },
);

export function anyText(bounds: StringSharedConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...bounds, unit: character });
}
