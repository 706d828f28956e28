/**
 * Reads when runs started, from the index alone.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { RUN_KINDS, type RunStart, type RunStartsOf } from "../../domain/runs/list.ts";
import { EntryReader, type Position } from "../index/entries.ts";
import { COST_PARTS } from "../index/names.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import type { Store } from "../store.ts";
import { costIn } from "./run_index.ts";

/** The parts of the index that have all runs of a kind. */
const ORDERS: Readonly<Record<RunStartsOf, readonly [RunIndexKind, readonly string[]]>> = {
  runs: ["kind", RUN_KINDS],
  failures: ["status", ["failed", "timeout"]],
  running: ["status", ["running"]],
  costs: ["cost", COST_PARTS],
};

/** Entries of one read. */
const ENTRIES_PER_READ = 500;

/** Reads the starts in a range; null if there are more than `max`. */
export async function readStarts(
  store: Store,
  team: TeamId,
  of: RunStartsOf,
  fromMs: number,
  toMs: number,
  max: number,
): Promise<readonly RunStart[] | null> {
  const [kind, names] = ORDERS[of];
  const starts: RunStart[] = [];
  await Promise.all(names.map(async (name) => {
    const order = keys.runsBy(team, kind, name);
    const reader = new EntryReader(store, order, { end: { at: fromMs, run: "" }, reverse: true });
    let after: Position | null = { at: toMs, run: "" };
    while (after !== null && starts.length <= max) {
      const { entries } = await reader.read(after, ENTRIES_PER_READ);
      for (const { at, value } of entries) starts.push({ at, cost: costIn(value) });
      after = entries.length < ENTRIES_PER_READ ? null : entries.at(-1) ?? null;
    }
  }));
  return starts.length > max ? null : starts;
}
