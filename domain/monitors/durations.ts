/**
 * Durations as people write them, such as `90s`, `15m`, `2h` and `1d`.
 *
 * @module
 */

/** Seconds of each unit, largest first. */
const UNITS = [["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]] as const;

/** Digits without an exact limit: each use checks its own range. */
const FORM = /^(\d{1,9})([smhd])$/;

/** Parses a duration such as `15m`; returns its seconds, or null for any other text. */
export function parseDuration(text: string): number | null {
  const [, count = "", unit] = FORM.exec(text) ?? [];
  const size = UNITS.find(([name]) => name === unit)?.[1];
  return size === undefined ? null : Number(count) * size;
}

/** Formats seconds in the largest unit of which they are a multiple; inverse of {@link parseDuration}. */
export function durationWord(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds !== 0 && seconds % size === 0) ?? ["s", 1];
  return `${seconds / size}${unit}`;
}
