/**
 * The index of runs: by agent, customer, feature, model, parent, status, kind, magnitude of cost
 * and traits, each sorted by start. Runs without an opening have no start; they are indexed only as
 * orphans, by the arrival of their first part.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keyText } from "../writer/group.ts";
import type { EntryToAdd, EntryToRemove } from "../base/entries.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import { indexValue, isSameValue } from "./index_value.ts";
import { agentPart, costPart, customerPart, featurePart, modelPart } from "../base/index_parts.ts";

/** Labels of a run whose summary has none. */
const NO_LABELS = { agent: null, customer: null, feature: null, status: "running" } as const;

/**
 * Milliseconds between a run's start and its latest arrival within which its entries may share
 * rows: so the blocks of one span come from few commits.
 */
const LIVE_MS = 5_000;

/** An entry of the index. */
export interface IndexEntry extends EntryToAdd {
  readonly value: Uint8Array;
  /** True if it never shares a row, because it is removed soon. */
  readonly isBrief: boolean;
}

/** Orders of a team, so that the runs of a commit share them. */
export type Orders = Map<string, Deno.KvKey>;

function orderOf(orders: Orders, team: TeamId, kind: RunIndexKind, name: string): Deno.KvKey {
  const text = `${kind} ${name}`;
  let order = orders.get(text);
  if (order === undefined) {
    order = keys.runsBy(team, kind, name);
    orders.set(text, order);
  }
  return order;
}

/**
 * Returns the entries of a run, one for each order.
 *
 * @param orders known orders of the team; missing ones are added
 */
export function indexEntries(
  team: TeamId,
  run: RunId,
  summary: RunSummary | null,
  orders: Orders = new Map(),
): readonly IndexEntry[] {
  if (summary === null) return [];
  const { contribution, listed, shown, times } = summary;
  const { at } = listed;
  const indexedLabels = contribution?.labels ?? shown.sums?.labels ?? NO_LABELS;
  const all = indexValue(listed.kind, indexedLabels);
  const isLive = times !== null && Math.abs(times.receivedAt - at) <= LIVE_MS;
  const entries: IndexEntry[] = [];
  const add = (kind: RunIndexKind, name: string, value = all) => {
    // An open run soon gets another status; that entry is removed without reading a block.
    const isBrief = kind === "status" && name === "running";
    const order = orderOf(orders, team, kind, name);
    entries.push({ order, at, run, value, mayShare: isLive && !isBrief, isBrief });
  };
  if (contribution === null) {
    add("has", "orphan");
    return entries;
  }
  const { labels, models, cost } = contribution;
  if (labels.agent !== null) add("agent", agentPart(labels.agent));
  if (labels.customer !== null) add("customer", customerPart(labels.customer));
  // A model has a line with a price and one without.
  for (const model of new Set(models.map(modelPart))) add("model", model);
  if (summary.parent !== undefined) add("parent", summary.parent);
  if (labels.feature !== null) add("feature", featurePart(labels.feature));
  add("status", labels.status);
  add("kind", listed.kind);
  if (cost > 0n) add("cost", costPart(cost), indexValue(listed.kind, labels, cost));
  for (const trait of listed.has) add("has", trait);
  return entries;
}

/** Returns the entries to add and to remove when a run's summary changes. */
export function indexChange(
  team: TeamId,
  run: RunId,
  before: RunSummary | null,
  after: RunSummary | null,
  orders: Orders,
): { readonly added: readonly EntryToAdd[]; readonly removed: readonly EntryToRemove[] } {
  const now = indexEntries(team, run, after, orders);
  if (before === null) return { added: now, removed: [] };
  const { blocks = [] } = before;
  const old = byKey(indexEntries(team, run, before));
  const kept = byKey(now);
  return {
    added: [...kept].flatMap(([key, entry]) => {
      const stored = old.get(key);
      if (isSame(stored, entry)) return [];
      // A reader would miss an entry that moves into a block.
      return [stored === undefined ? entry : { ...entry, mayShare: false }];
    }),
    removed: [...old].flatMap(([key, entry]) =>
      isSame(kept.get(key), entry) ? [] : [{ ...entry, blocks: entry.isBrief ? [] : blocks }]
    ),
  };
}

function byKey(entries: readonly IndexEntry[]): Map<string, IndexEntry> {
  return new Map(
    entries.map((entry) => [keyText(keys.entry(entry.order, entry.at, entry.run)), entry]),
  );
}

function isSame(entry: IndexEntry | undefined, { value }: IndexEntry): boolean {
  return entry !== undefined && isSameValue(entry.value, value);
}
