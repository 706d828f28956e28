/**
 * A call that writes parts of a run, and its write.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { monthOf } from "../../domain/core/time.ts";
import type { Decision } from "../../domain/runs/decide.ts";
import type { Opening, RunParts } from "../../domain/runs/run.ts";
import type { Team } from "../../domain/teams/team.ts";
import { encodeOneCall, encodePart } from "../base/codec.ts";
import { keys } from "../base/keys.ts";
import { type BlobWrite, blobWrite } from "../store.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { Write } from "../writer/write.ts";
import type { StoredParts } from "./snapshot.ts";

/** A write request in progress. */
export interface Call {
  readonly team: Team;
  readonly id: RunId;
  readonly receivedAt: number;
  /** Agent in the request; null for a finish. */
  readonly agent: string | null;
  readonly decide: (parts: RunParts) => Decision;
  /** Rows that change in the same commit. */
  readonly others?: Write;
}

/**
 * Returns the write that inserts the decided parts and counts the request.
 *
 * An opening and a close of one call share the row of the close. So a call that opens a run checks
 * both rows, whichever it writes.
 *
 * @param stored rows that the decision was made from; null if none is assumed to exist
 */
export function partsWrite(
  { team, id, receivedAt, others }: Call,
  { opening, closing }: Decision,
  stored: StoredParts | null,
): { readonly write: Write; readonly staged: BlobWrite["staged"] } {
  const openingKey = keys.opening(team.id, id);
  const closingKey = keys.closing(team.id, id);
  const checks: Deno.AtomicCheck[] = [];
  // The opening that is stored first counts (R34).
  if (opening !== undefined) checks.push({ key: openingKey, versionstamp: null });
  checks.push({ key: closingKey, versionstamp: stored?.closing.versionstamp ?? null });
  const blob = closing === undefined
    ? blobWrite(team.id, id, openingKey, encodePart(opening as Opening))
    : blobWrite(
      team.id,
      id,
      closingKey,
      opening === undefined ? encodePart(closing) : encodeOneCall(closing, opening),
    );
  const sums = [{ key: keys.usage(team.id, monthOf(receivedAt)), by: 1n }];
  const lane = closing === undefined ? "open" : "closed";
  const pending = [{ lane, name: pendingName(team.id, id) }] as const;
  const { sets, staged } = blob;
  const write = { team: team.id, checks, sums, sets, pending };
  return { write: others === undefined ? write : joinWrites(write, others), staged };
}

/** Joins two writes of different keys. */
export function joinWrites(a: Write, b: Write): Write {
  return {
    ...a,
    ...b,
    checks: [...a.checks ?? [], ...b.checks ?? []],
    sums: [...a.sums ?? [], ...b.sums ?? []],
    sets: [...a.sets ?? [], ...b.sets ?? []],
    deletes: [...a.deletes ?? [], ...b.deletes ?? []],
    pending: [...a.pending ?? [], ...b.pending ?? []],
  };
}
