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
import {
  agentPart,
  COST_PARTS,
  costPart,
  customerPart,
  EntryReader,
  type EntryToAdd,
  type EntryToRemove,
  featurePart,
  modelPart,
  type Position,
} from "../index/entries.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import { type RunsQuery, valuesOf } from "../../domain/runs/list_filter.ts";
import type { RunKind } from "../../domain/runs/cost.ts";
import type { RunLabels } from "../../domain/runs/run.ts";
import { RUN_KINDS, type RunStart, type RunStartsOf } from "../../domain/runs/list.ts";
import type { Store } from "../store.ts";

/** Labels of a run whose summary has none. */
const NO_LABELS = { agent: null, customer: null, feature: null, status: "running" } as const;

/**
 * Milliseconds between a run's start and its latest arrival within which its entries may share
 * rows: so the blocks of one span come from few commits.
 */
const LIVE_MS = 5_000;

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

/** Version of the format. Values of another format match every query. */
const FORM = 1;

/** Offsets of the fields. */
const KIND = 1, AGENT = 2, CUSTOMER = 3, FEATURE = 4, COST = 5;

/** Byte of a missing label. */
const NO_LABEL = 0;

/** Number of hash values of a label. */
const LABELS = 255;

const decoder = new TextDecoder();

/**
 * Builds the value of a run's index rows: enough of a run to skip most runs that do not match a query,
 * without reading them. It holds what the opening states, which rarely changes, so that finishing a run
 * writes no other rows.
 *
 * @param cost only for rows by cost
 */
export function indexValue(
  kind: RunKind,
  { agent, customer, feature }: RunLabels,
  cost?: Picodollars,
): Uint8Array {
  const digits = cost === undefined ? "" : `${cost}`;
  const value = new Uint8Array(COST + digits.length);
  value[0] = FORM;
  value[KIND] = kindByte(kind);
  value[AGENT] = labelByte(agent);
  value[CUSTOMER] = labelByte(customer);
  value[FEATURE] = labelByte(feature);
  for (let i = 0; i < digits.length; i++) value[COST + i] = digits.charCodeAt(i);
  return value;
}

/** Returns a filter of values; false means that the run cannot match the query. */
export function maybeListed(
  { kind, agent, customer, feature, minCost }: RunsQuery,
): (value: unknown) => boolean {
  const expected: [at: number, bytes: readonly number[]][] = [];
  if (kind !== undefined) expected.push([KIND, [kindByte(kind)]]);
  const labels = [[AGENT, agent], [CUSTOMER, customer], [FEATURE, feature]] as const;
  for (const [at, wanted] of labels) {
    if (wanted !== undefined) expected.push([at, valuesOf(wanted).map(labelByte)]);
  }
  return (value) => {
    if (!(value instanceof Uint8Array) || value[0] !== FORM) return true;
    if (expected.some(([at, bytes]) => !bytes.includes(value[at] ?? NO_LABEL))) return false;
    return minCost === undefined || value.length === COST ||
      BigInt(decoder.decode(value.subarray(COST))) >= minCost;
  };
}

/** Returns the cost in a value; 0 if it has none. */
export function costIn(value: unknown): Picodollars {
  const isKnown = value instanceof Uint8Array && value[0] === FORM && value.length > COST;
  return isKnown ? BigInt(decoder.decode(value.subarray(COST))) : 0n;
}

/** Returns true if two values are equal. */
export function isSameValue(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function kindByte(kind: RunKind): number {
  return kind === "run" ? 0 : 1;
}

/** Hashes a label to one byte; different labels may collide. */
function labelByte(label: string | null): number {
  if (label === null) return NO_LABEL;
  let hash = 0;
  for (let i = 0; i < label.length; i++) hash = (Math.imul(hash, 31) + label.charCodeAt(i)) | 0;
  return 1 + (hash >>> 0) % LABELS;
}

/** The parts of the index that have all runs of a kind. */
const ORDERS: Readonly<Record<RunStartsOf, readonly [RunIndexKind, readonly string[]]>> = {
  runs: ["kind", RUN_KINDS],
  failures: ["status", ["failed", "timeout"]],
  running: ["status", ["running"]],
  costs: ["cost", COST_PARTS],
};

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
