/**
 * Values of index rows: enough of a run to skip most runs that do not match a query, without
 * reading them. A value holds what the opening states, which rarely changes, so that finishing a
 * run writes no other rows. Rows by cost also hold the cost.
 *
 * @module
 */
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RunsQuery } from "../../domain/runs/list.ts";
import type { RunKind } from "../../domain/runs/traits.ts";
import type { RunLabels } from "../../domain/runs/run.ts";

/** Version of the format. Values of another format match every query. */
const FORM = 1;

/** Offsets of the fields. */
const KIND = 1, AGENT = 2, CUSTOMER = 3, FEATURE = 4, COST = 5;

/** Byte of a missing label. */
const NO_LABEL = 0;

/** Number of hash values of a label. */
const LABELS = 255;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Builds the value of a run's index rows.
 *
 * @param cost only for rows by cost
 */
export function indexValue(
  kind: RunKind,
  { agent, customer, feature }: RunLabels,
  cost?: Picodollars,
): Uint8Array {
  const digits = cost === undefined ? [] : encoder.encode(`${cost}`);
  return Uint8Array.of(
    FORM,
    kindByte(kind),
    labelByte(agent),
    labelByte(customer),
    labelByte(feature),
    ...digits,
  );
}

/** Returns a filter of values; false means that the run cannot match the query. */
export function maybeListed(
  { kind, agent, customer, feature, minCost }: RunsQuery,
): (value: unknown) => boolean {
  const expected: [at: number, byte: number][] = [];
  if (kind !== undefined) expected.push([KIND, kindByte(kind)]);
  if (agent !== undefined) expected.push([AGENT, labelByte(agent)]);
  if (customer !== undefined) expected.push([CUSTOMER, labelByte(customer)]);
  if (feature !== undefined) expected.push([FEATURE, labelByte(feature)]);
  return (value) => {
    if (!(value instanceof Uint8Array) || value[0] !== FORM) return true;
    if (expected.some(([at, byte]) => value[at] !== byte)) return false;
    return minCost === undefined || value.length === COST ||
      BigInt(decoder.decode(value.subarray(COST))) >= minCost;
  };
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
