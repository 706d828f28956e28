/**
 * Derived rows that add up what runs contribute: roll-ups, activities of agents, usage, and counts of
 * results.
 *
 * @module
 */
import { eachRow } from "../store.ts";
import { type Fields, NONE, type TeamCheck } from "./findings.ts";

/** A family of such rows. */
export interface SumFamily<Row> {
  /** Words that name a row, before the parts of its key after the team. */
  readonly kind: string;
  readonly prefix: Deno.KvKey;
  /** Prefix of the rows of removed runs, which count too. */
  readonly removed?: Deno.KvKey;
  readonly decode: (entry: Deno.KvEntry<unknown>) => Row;
  readonly combine: (a: Row, b: Row) => Row;
  /** Returns the fields to compare; a row without any need not be stored. */
  readonly fieldsOf: (row: Row) => Fields;
  /** Verifies of a stored row what its fields do not tell. */
  readonly verify?: (what: string, expected: Row | undefined, stored: Row) => void;
}

/** Sums of one family over the runs of a team. It holds its rows, and no run. */
export class Sums<Row> {
  readonly #rows = new Map<string, Row>();

  constructor(readonly family: SumFamily<Row>) {}

  /** Adds a contribution to the row that has these parts in its key. */
  add(name: string, row: Row): void {
    const sum = this.#rows.get(name);
    this.#rows.set(name, sum === undefined ? row : this.family.combine(sum, row));
  }

  /** Adds the rows of removed runs; returns the names of all rows. */
  async addRemoved({ store }: TeamCheck): Promise<readonly string[]> {
    const { removed, decode, combine } = this.family;
    if (removed !== undefined) {
      for await (const entry of eachRow(store, { prefix: removed })) {
        const [name, row] = [labelOf(entry.key), decode(entry)];
        const sum = this.#rows.get(name);
        // Of equal ones, such as a run that was opened again, the one that is stored counts.
        this.#rows.set(name, sum === undefined ? row : combine(row, sum));
      }
    }
    return [...this.#rows.keys()];
  }

  /** Compares the sums with the stored rows. Call it once, after the last run. */
  async compare({ store, findings }: TeamCheck): Promise<void> {
    const { kind, prefix, decode, fieldsOf, verify } = this.family;
    for await (const entry of eachRow(store, { prefix })) {
      const name = labelOf(entry.key);
      const [what, row] = [`${kind} ${name}`, this.#rows.get(name)];
      this.#rows.delete(name);
      try {
        const stored = decode(entry);
        const [wanted, fields] = [row === undefined ? {} : fieldsOf(row), fieldsOf(stored)];
        if (isAny(wanted) && isAny(fields)) findings.compare(what, wanted, fields);
        else findings.presence(what, isAny(wanted), isAny(fields));
        verify?.(what, row, stored);
      } catch (error) {
        findings.note(what, "readable", String(error));
      }
    }
    for (const [name, row] of this.#rows) {
      const [first] = Object.entries(fieldsOf(row));
      if (first !== undefined) findings.note(`${kind} ${name}`, first.join(" "), NONE);
    }
  }
}

function isAny(fields: Fields): boolean {
  return Object.keys(fields).length > 0;
}

/** Returns the parts of a key after the team, as findings name a row. */
export function labelOf(key: Deno.KvKey): string {
  return key.slice(2).join(" ");
}
