/**
 * Findings of the integrity check: differences between stored and recomputed data.
 *
 * @module
 */
import type { TeamRef } from "../runs/heads.ts";
import { eachRow } from "../store.ts";
import { keyText } from "../writer/group.ts";

/** Maximum mismatches listed; all are counted. */
export const MISMATCHES_MAX = 100;

/** Placeholder for a missing item. */
export const NONE = "none";

/** A stored item that differs from the data it is derived from. */
export interface Mismatch {
  /** Name of the item. */
  readonly what: string;
  /** The recomputed fields that differ. */
  readonly expected: string;
  /** The stored fields that differ. */
  readonly stored: string;
}

/** Fields of an item, to compare. */
export type Fields = Readonly<Record<string, unknown>>;

/** Collects mismatches. */
export class Findings {
  /** Number of mismatches. */
  count = 0;
  /** The first mismatches. */
  readonly mismatches: Mismatch[] = [];

  /** Notes a mismatch. */
  note(what: string, expected: string, stored: string): void {
    if (this.count++ < MISMATCHES_MAX) this.mismatches.push({ what, expected, stored });
  }

  /** Notes an item that is missing, or that should not be stored. */
  presence(what: string, isExpected: boolean, isStored: boolean): void {
    const [expected, stored] = [isExpected, isStored].map((is) => is ? "stored" : NONE);
    if (isExpected !== isStored) this.note(what, expected!, stored!);
  }

  /** Notes the fields that differ as one mismatch. */
  compare(what: string, expected: Fields, stored: Fields): void {
    const names = new Set([...Object.keys(expected), ...Object.keys(stored)]);
    const differ = [...names].filter((name) => textOf(expected[name]) !== textOf(stored[name]));
    const fieldsOf = (side: Fields) =>
      differ.map((name) => `${name} ${textOf(side[name])}`).join(", ");
    if (differ.length > 0) this.note(what, fieldsOf(expected), fieldsOf(stored));
  }

  /** Adds the findings of a part. */
  add({ count, mismatches }: Findings): void {
    for (const { what, expected, stored } of mismatches) this.note(what, expected, stored);
    this.count += count - mismatches.length;
  }
}

/** A team under check. */
export interface TeamCheck extends TeamRef {
  readonly findings: Findings;
}

/** Reads rows that other rows imply. Each implied row is checked once; the others are stray. */
export async function readImplied(
  { store, findings }: TeamCheck,
  ...ranges: readonly Deno.KvListSelector[]
) {
  const names = new Set<string>();
  for (const range of ranges) {
    for await (const { key } of eachRow(store, range)) names.add(keyText(key));
  }
  return {
    /** Checks that a row is stored, or that it is not. */
    check: (what: string, key: Deno.KvKey, isImplied = true) =>
      findings.presence(what, isImplied, names.delete(keyText(key))),
    /** Notes the rows that nothing implies. Call it last. */
    noteStray(what: string) {
      for (const name of names) findings.presence(`${what}: ${name}`, false, true);
    },
  };
}

function textOf(value: unknown): string {
  if (value === undefined) return NONE;
  if (typeof value === "bigint") return `${value}`;
  if (value instanceof Uint8Array) return value.toHex();
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}` : inOrder(part));
}

/** Sorts fields, so that equal objects have equal texts. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
