/**
 * Stored form of a run's totals, summary and ledger.
 *
 * These compact records are stored by position instead of by name. A shape lists the fields in their
 * order; fields that it does not list are stored by name, so a new field is never lost.
 *
 * @module
 */
import type { RunSummary, RunSums } from "../../domain/runs/summary.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import type { ModelUsage } from "../../domain/runs/model_usage.ts";
import type { Candidate, StoredTrace, TextCandidate } from "../../domain/runs/trace_facts.ts";
import { packJson, unpackJson } from "./blob.ts";
import { type BatchEntry, type EventLedger, PACKED_ID_BYTES } from "../../domain/runs/ledger.ts";

/**
 * The stored form of a field's value: `plain` JSON, `optional` plain JSON that is never null, `big`
 * for a bigint, as a number where that is exact, or a record of another shape, or a list of them.
 */
export type Form = "plain" | "optional" | "big" | Shape | readonly [Shape];

/** The fields of a record, by name. */
export interface Shape {
  readonly [name: string]: Form;
}

declare const STORED: unique symbol;

/** A shape of stored records, as {@link storedShape} returns it. */
export type StoredShape<Fields extends Shape = Shape> = Fields & { readonly [STORED]: true };

/** All shapes of stored records by name: the test of the format compares them (R21). */
export const STORED_SHAPES = new Map<string, Shape>();

/** Names a shape of stored records. Only such a shape is packed, so none is left out of the test. */
export function storedShape<Fields extends Shape>(
  name: string,
  shape: Fields,
): StoredShape<Fields> {
  STORED_SHAPES.set(name, shape);
  return shape as StoredShape<Fields>;
}

/** Stored in place of an absent record. */
const ABSENT = 0;

type Fields = Record<string, unknown>;

/** The fields of a shape, to iterate over and to look up. */
interface Layout {
  readonly names: readonly string[];
  readonly forms: readonly Form[];
  readonly all: ReadonlySet<string>;
}

const layouts = new WeakMap<Shape, Layout>();

function layoutOf(shape: Shape): Layout {
  let layout = layouts.get(shape);
  if (layout === undefined) {
    const names = Object.keys(shape);
    layout = { names, forms: Object.values(shape), all: new Set(names) };
    layouts.set(shape, layout);
  }
  return layout;
}

/** Returns the values of a record in the order of its shape; then the other fields, if any. */
export const packRecord: (record: object, shape: StoredShape) => unknown[] = packFields;

function packFields(record: object, shape: Shape): unknown[] {
  const { names, forms, all } = layoutOf(shape);
  const fields = record as Fields;
  // A list that grows by `push` has room for 17 values, and a summary has a dozen such lists.
  const packed = new Array<unknown>(names.length);
  for (let i = 0; i < names.length; i++) {
    packed[i] = packValue(fields[names[i] as string], forms[i] as Form);
  }
  let others: Fields | null = null;
  for (const name in fields) {
    if (all.has(name) || fields[name] === undefined) continue;
    others ??= {};
    others[name] = fields[name];
  }
  if (others !== null) packed.push(others);
  return packed;
}

function packValue(value: unknown, form: Form): unknown {
  if (form === "big") return packBig(value as bigint);
  if (typeof form === "string") return value ?? null;
  if (value === undefined) return ABSENT;
  if (value === null) return null;
  if (!Array.isArray(form)) return packFields(value, form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly object[]).map((each) => packFields(each, shape));
}

/** Restores a record from its parsed JSON. */
export const unpackRecord: (packed: readonly unknown[], shape: StoredShape) => Fields =
  unpackFields;

function unpackFields(packed: readonly unknown[], shape: Shape): Fields {
  const { names, forms } = layoutOf(shape);
  const fields: Fields = {};
  for (let i = 0; i < names.length; i++) {
    const value = unpackValue(packed[i], forms[i] as Form);
    if (value !== undefined) fields[names[i] as string] = value;
  }
  return Object.assign(fields, packed[names.length]);
}

function unpackValue(value: unknown, form: Form): unknown {
  if (form === "plain") return value;
  if (form === "optional") return value ?? undefined;
  if (form === "big") return BigInt(value as number | string);
  if (value === ABSENT) return undefined;
  if (value === null) return null;
  if (!Array.isArray(form)) return unpackFields(value as unknown[], form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly unknown[][]).map((each) => unpackFields(each, shape));
}

function packBig(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : `${value}`;
}

const MODEL = {
  provider: "plain",
  model: "plain",
  priced: "plain",
  calls: "plain",
  inputTokens: "big",
  outputTokens: "big",
  cachedInputTokens: "big",
  cost: "big",
} satisfies Record<keyof ModelUsage, Form>;

/** Shape of {@link EventTotals}. */
export const TOTALS = storedShape(
  "totals",
  {
    events: "plain",
    llmCalls: "plain",
    toolCalls: "plain",
    logs: "plain",
    errors: "plain",
    inputTokens: "big",
    outputTokens: "big",
    cachedInputTokens: "big",
    cost: "big",
    cachedExceedsInput: "plain",
    fullRateBatchCalls: "plain",
    flags: "plain",
    models: [MODEL],
    failedTool: { ts: "plain", id: "plain", name: "plain" },
  } as const satisfies Record<keyof EventTotals, Form>,
);

const RUN_SUMS = {
  labels: { agent: "plain", customer: "plain", feature: "plain", status: "plain" },
  models: [MODEL],
  reported: "optional",
  events: "plain",
  calls: "plain",
  inputTokens: "big",
  outputTokens: "big",
  cachedInputTokens: "big",
  cost: "big",
} as const satisfies Record<keyof RunSums, Form>;

const SUMMARY = storedShape("summary", {
  seen: {
    opening: "plain",
    closing: "plain",
    closedBy: "optional",
    batches: "plain",
    repricings: "plain",
    scores: "optional",
    isOpenTrace: "optional",
  },
  revision: "plain",
  contribution: { ...RUN_SUMS, day: "plain" },
  // Few runs have a `closedAt`, which is stored by name.
  times: { startedAt: "plain", receivedAt: "plain" },
  listed: { kind: "plain", at: "plain", has: "plain" },
  shown: {
    toolCalls: "plain",
    logs: "plain",
    errors: "plain",
    openedAt: "plain",
    finishedAt: "plain",
    durationMs: "plain",
    flags: "plain",
    costFlags: "plain",
    failedTool: "optional",
    sums: RUN_SUMS,
  },
  changes: {
    latest: "plain",
    opened: "plain",
    finished: "plain",
    costFinal: "plain",
    checked: "optional",
  },
  parent: "optional",
  finalAt: "optional",
  blocks: "optional",
  expiry: { retentionClass: "plain", since: "plain" },
  isCounted: "optional",
  checks: { notPassed: "plain" },
  // Few runs have `judges`, which is stored by name.
  awaitsChecks: "optional",
});

/** First value of stored event totals, and of a stored summary. */
const TOTALS_KIND = 0, SUMMARY_KIND = 1;

/**
 * Encodes a summary or event totals. They always fit in one value: 20 models, each with a name of
 * 256 characters that JSON escapes to six, slightly exceed it; compression reduces that to a sixth.
 */
export function encodeSums(sums: RunSummary | EventTotals): Uint8Array {
  const packed = "seen" in sums
    ? [SUMMARY_KIND, ...packRecord(sums, SUMMARY)]
    : [TOTALS_KIND, ...packRecord(sums, TOTALS)];
  return packJson(packed);
}

/** Decodes the value of {@link encodeSums}. */
export function decodeSums<Sums extends RunSummary | EventTotals>(bytes: Uint8Array): Sums {
  const [kind, ...packed] = unpackJson<unknown[]>(bytes);
  return unpackRecord(packed, kind === SUMMARY_KIND ? SUMMARY : TOTALS) as unknown as Sums;
}

const CANDIDATE = { rank: "plain", at: "plain", id: "plain" } as const satisfies Record<
  keyof Candidate,
  Form
>;

const TEXT = { ...CANDIDATE, value: "plain" } as const satisfies Record<keyof TextCandidate, Form>;

/** Fields of a trace that few have: they are stored by name. */
type RareFact = "isAgentRefused" | "isUndecided" | "repeatedCalls";

/** Shape of a trace, without the fields that few have. */
const TRACE = {
  begin: CANDIDATE,
  end: { ...CANDIDATE, startMs: "plain" },
  status: { ...CANDIDATE, startMs: "plain", status: "plain" },
  agent: TEXT,
  customer: TEXT,
  feature: TEXT,
  parent: TEXT,
  metadata: [{ key: "plain", ...TEXT }],
  isClosed: "optional",
  scopes: "optional",
  slug: "optional",
  closedAt: "optional",
} as const satisfies Record<Exclude<keyof StoredTrace, RareFact>, Form>;

/** Shape of a ledger without its open page. */
const LEDGER = storedShape(
  "ledger",
  {
    sealed: "plain",
    batches: "plain",
    totals: TOTALS,
    repricings: "plain",
    removed: "plain",
    oldestAt: "plain",
    firstAt: "plain",
    latestAt: "plain",
    months: "plain",
    scores: "optional",
    trace: TRACE,
  } as const satisfies Record<Exclude<keyof EventLedger, "tail">, Form>,
);

/** Bytes that count the ids. */
const COUNT_BYTES = 2;

/**
 * Encodes a ledger: the packed ids of its open page, then all else as compact JSON. It fits in one
 * value, like the totals of 20 models. Every batch writes the ledger again, so its bytes and its
 * encoding count twice.
 */
export function encodeLedger({ tail, ...ledger }: EventLedger): Uint8Array {
  const packed = [addEntries(tail.batches), ...packRecord(ledger, LEDGER)];
  const head = packJson(packed);
  const bytes = new Uint8Array(COUNT_BYTES + tail.ids.length + head.length);
  const count = tail.ids.length / PACKED_ID_BYTES;
  bytes[0] = count >> 8;
  bytes[1] = count;
  bytes.set(tail.ids, COUNT_BYTES);
  bytes.set(head, COUNT_BYTES + tail.ids.length);
  return bytes;
}

/** Decodes the value of {@link encodeLedger}. */
export function decodeLedger(bytes: Uint8Array): EventLedger {
  const end = COUNT_BYTES + ((bytes[0] ?? 0) << 8 | (bytes[1] ?? 0)) * PACKED_ID_BYTES;
  const [entries, ...packed] = unpackJson<[number[], ...unknown[]]>(bytes.subarray(end));
  const ids = bytes.slice(COUNT_BYTES, end);
  const ledger = unpackRecord(packed, LEDGER) as unknown as Omit<EventLedger, "tail">;
  return { ...ledger, tail: { ids, batches: unpackEntries(entries) } };
}

/**
 * Returns the instants of batches as differences: to the batch before, and within the batch. Most
 * are a few digits.
 */
function addEntries(batches: readonly BatchEntry[]): number[] {
  const packed: number[] = [];
  let lastAt = 0;
  for (const { tsMin, tsMax, receivedAt } of batches) {
    packed.push(receivedAt - lastAt, receivedAt - tsMin, tsMax - tsMin);
    lastAt = receivedAt;
  }
  return packed;
}

function unpackEntries(packed: readonly number[]): BatchEntry[] {
  const batches: BatchEntry[] = [];
  let lastAt = 0;
  for (let i = 0; i < packed.length; i += 3) {
    const [sinceLast = 0, age = 0, span = 0] = packed.slice(i, i + 3);
    const receivedAt = lastAt + sinceLast;
    const tsMin = receivedAt - age;
    batches.push({ tsMin, tsMax: tsMin + span, receivedAt });
    lastAt = receivedAt;
  }
  return batches;
}
