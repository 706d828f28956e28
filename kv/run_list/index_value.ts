/**
 * What a row of the index tells of its run: enough to pass by most runs that a query does not ask for
 * without reading them. It tells what an opening says and seldom changes after, so that a run that ends
 * has no more rows to write; rows by cost tell the cost too.
 *
 * @module
 */
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RunsQuery } from "../../domain/runs/list.ts";
import type { RunKind } from "../../domain/runs/traits.ts";
import type { RunLabels } from "../../domain/runs/contribution.ts";

/** The form of a value; rows of any other form tell nothing. */
const FORM = 1;

/** Where things stand in a value. */
const KIND = 1, AGENT = 2, CUSTOMER = 3, FEATURE = 4, COST = 5;

/** The byte of a label that a run does not have. */
const NO_LABEL = 0;

/** Labels that one byte tells apart. */
const LABELS = 255;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Makes the value of a run's rows.
 *
 * @param cost only of rows by cost
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

/** Says of values whether runs with such rows may be among what a query asks for. */
export function maybeListed(
  { kind, agent, customer, feature, minCost }: RunsQuery,
): (value: unknown) => boolean {
  const wanted: [at: number, byte: number][] = [];
  if (kind !== undefined) wanted.push([KIND, kindByte(kind)]);
  if (agent !== undefined) wanted.push([AGENT, labelByte(agent)]);
  if (customer !== undefined) wanted.push([CUSTOMER, labelByte(customer)]);
  if (feature !== undefined) wanted.push([FEATURE, labelByte(feature)]);
  return (value) => {
    if (!(value instanceof Uint8Array) || value[0] !== FORM) return true;
    if (wanted.some(([at, byte]) => value[at] !== byte)) return false;
    return minCost === undefined || value.length === COST ||
      BigInt(decoder.decode(value.subarray(COST))) >= minCost;
  };
}

/** Whether two values tell the same. */
export function isSameValue(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function kindByte(kind: RunKind): number {
  return kind === "run" ? 0 : 1;
}

/** A label as one byte; several have the same. */
function labelByte(label: string | null): number {
  if (label === null) return NO_LABEL;
  let hash = 0;
  for (let i = 0; i < label.length; i++) hash = (Math.imul(hash, 31) + label.charCodeAt(i)) | 0;
  return 1 + (hash >>> 0) % LABELS;
}
