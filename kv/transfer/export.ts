/**
 * Exports a ledger as lines of text, without what an import derives (R21).
 *
 * @module
 */
import {
  EXPORT_FORMAT,
  KINDS_AFTER_RUNS,
  KINDS_BEFORE_RUNS,
  type RowKind,
} from "../../domain/core/export_format.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { VERSION } from "../../domain/core/version.ts";
import { keys } from "../base/keys.ts";
import { eachRow, listRows, namesBelow, type Store } from "../store.ts";
import { rowLine, UNLISTED } from "./rows.ts";
import { runLines } from "./runs.ts";

/** A ledger could not be exported or imported; the message says what to do. */
export class TransferFailed extends Error {
  override readonly name = "TransferFailed";
}

/**
 * Yields the lines of a ledger. Nothing may change it meanwhile.
 *
 * @throws {TransferFailed} when it has changed; what was yielded is then useless
 */
export async function* exportLines(store: Store): AsyncGenerator<string> {
  const before = await receiptsOf(store);
  await refuseUnknown(store);
  let lines = 1;
  yield JSON.stringify({ kind: "export", export: EXPORT_FORMAT, version: VERSION });
  for await (const line of linesOf(store)) {
    lines++;
    yield line;
  }
  // Every commit on a shared store changes a receipt; a file is locked.
  if (await receiptsOf(store) !== before) {
    throw new TransferFailed(
      "The ledger changed while it was exported: stop its services, then export again",
    );
  }
  yield JSON.stringify({ kind: "end", lines });
}

async function* linesOf(store: Store): AsyncGenerator<string> {
  for (const kind of KINDS_BEFORE_RUNS) yield* rowLines(store, kind);
  for await (const key of namesBelow(store, keys.runs(), 2)) {
    yield* runLines(store, key[2] as TeamId, key[1] as RunId);
  }
  for (const kind of KINDS_AFTER_RUNS) yield* rowLines(store, kind);
}

async function* rowLines(store: Store, kind: RowKind): AsyncGenerator<string> {
  for await (const row of eachRow(store, { prefix: [kind] })) {
    const line = rowLine(kind, row);
    if (line !== null) yield line;
  }
  // A prefix does not select the key that equals it.
  const [own] = await listRows(store, { start: [kind], end: [kind, ""] }, { limit: 1 });
  const line = own?.key.length === 1 ? rowLine(kind, own) : null;
  if (line !== null) yield line;
}

/** Refuses rows that no line would have: they would be lost. */
async function refuseUnknown(store: Store): Promise<void> {
  const known = new Set<unknown>([...KINDS_BEFORE_RUNS, ...KINDS_AFTER_RUNS, ...UNLISTED]);
  for await (const [family] of namesBelow(store, [], 1)) {
    if (known.has(family)) continue;
    throw new TransferFailed(`The ledger has rows of an unknown kind, ${String(family)}`);
  }
}

async function receiptsOf(store: Store): Promise<string> {
  const receipts = await listRows(store, { prefix: keys.receipts() });
  return receipts.map(({ versionstamp }) => versionstamp).join();
}
