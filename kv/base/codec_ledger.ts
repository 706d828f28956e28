/**
 * Stored form of a run's ledger: the packed ids of its open page, then all else as compact JSON.
 *
 * Every batch writes the ledger again, so its bytes and its encoding count twice.
 *
 * @module
 */
import { type BatchEntry, type EventLedger, PACKED_ID_BYTES } from "../../domain/runs/ledger.ts";
import { packBlob, unpackBlob } from "./blob.ts";
import { type Form, packRecord, storedShape, unpackRecord } from "./codec_shape.ts";
import { TOTALS } from "./codec_sums.ts";

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
  } as const satisfies Record<Exclude<keyof EventLedger, "tail">, Form>,
);

/** Bytes that count the ids. */
const COUNT_BYTES = 2;

/** Encodes a ledger. It fits in one value, like the totals of 20 models in `encodeSums`. */
export function encodeLedger({ tail, ...ledger }: EventLedger): Uint8Array {
  const packed = [packEntries(tail.batches), ...packRecord(ledger, LEDGER)];
  const { head } = packBlob(JSON.stringify(packed), noPieces);
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
  const [entries, ...packed] = JSON.parse(unpackBlob(bytes.subarray(end), []));
  const ids = bytes.slice(COUNT_BYTES, end);
  const ledger = unpackRecord(packed, LEDGER) as unknown as Omit<EventLedger, "tail">;
  return { ...ledger, tail: { ids, batches: unpackEntries(entries) } };
}

/**
 * Returns the instants of batches as differences: to the batch before, and within the batch. Most
 * are a few digits.
 */
function packEntries(batches: readonly BatchEntry[]): number[] {
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

function noPieces(): never {
  throw new TypeError("The ledger is too large for one value");
}
