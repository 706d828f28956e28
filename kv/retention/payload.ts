/**
 * Removes expired payload of a run: events, output, goal, note, metadata values, and the texts of its
 * check results.
 *
 * @module
 */
import { withoutTexts } from "../../domain/runs/check_result.ts";
import { expiryEntryOf, hasPayload, withoutPayload } from "../../domain/retention/retention.ts";
import type { Closing, Opening, RunParts } from "../../domain/runs/run.ts";
import { keys } from "../base/keys.ts";
import { encodeOneCall, encodePart } from "../base/codec.ts";
import { readResults } from "../checks/results.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import { blobWrite } from "../store.ts";
import type { Write } from "../writer/write.ts";
import { moveExpiryEntry } from "./expiry_entry.ts";
import { batchChunkKeys, takeOldBatches } from "./old_batches.ts";
import type { Removal } from "./removal.ts";
import { encodeLedger } from "../base/codec_sums.ts";

/**
 * Removes the payload that arrived before an instant; the record stays and gets a new expiry entry.
 *
 * @param rowsMax rows of events after which the rest stays; `isAll` is false if any stays
 */
export async function removePayload(
  run: SummarizedHead,
  beforeMs: number,
  rowsMax: number,
): Promise<Removal & { readonly isAll: boolean }> {
  const { team, id, head, summary, check } = run;
  const old = await takeOldBatches(run, beforeMs, rowsMax);
  const stripped: Write["sets"] & unknown[] = [];
  const strip = <Part extends Opening | Closing>(
    part: Part | null,
    key: Deno.KvKey,
    encode: (without: Part) => string,
  ) => {
    if (part === null || !hasPayload(part) || part.receivedAt >= beforeMs) return part;
    const without = withoutPayload(part);
    // A part without its payload always fits one value.
    stripped.push(...blobWrite(team, id, key, encode(without)).sets);
    return without;
  };
  const { opening, closing } = head.parts;
  // An opening in the row of the close has no payload.
  const shared = check("opening").versionstamp === null ? opening : null;
  const parts: RunParts = {
    opening: strip(opening, keys.opening(team, id), encodePart),
    closing: strip(
      closing,
      keys.closing(team, id),
      (close) => shared === null ? encodePart(close) : encodeOneCall(close, shared),
    ),
  };
  const chunks = await batchChunkKeys(run, stripped.map(({ key }) => key));
  const ledger = old?.ledger ?? run.ledger;
  const moved = moveExpiryEntry(run, expiryEntryOf(parts, ledger));
  return {
    change: {
      run,
      before: summary,
      after: summary,
      ...summary?.checks === undefined ? {} : { judged: withoutTexts(await readResults(run)) },
      rows: {
        // A concurrent commit may add a batch. An opening and a close never change.
        checks: old === null ? [] : [check("ledger")],
        sums: old?.sums ?? [],
        sets: [
          ...stripped,
          ...old === null
            ? []
            : [...old.sets, { key: keys.ledger(team, id), value: encodeLedger(ledger) }],
          ...moved.sets,
        ],
        deletes: [...old?.deletes ?? [], ...chunks],
        added: moved.added,
        removed: moved.removed,
      },
    },
    events: old?.events ?? 0,
    isAll: ledger.oldestAt === null || ledger.oldestAt >= beforeMs,
  };
}
