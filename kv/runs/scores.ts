/**
 * Stores scores: one row per score, counted by the run's ledger.
 *
 * @module
 */
import { DELETED } from "../../domain/runs/decide.ts";
import {
  type AddedScore,
  decideScore,
  inOrder,
  type ScoreOutcome,
  type ScoreRequest,
} from "../../domain/runs/scores.ts";
import { inTime, LOST, untilCommitted } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { pendingName } from "../writer/group.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { Team } from "../../domain/teams/team.ts";
import { commitParts } from "./commit_parts.ts";
import { ledgerOf, type RunWithLedger, tombstoneOf } from "./heads.ts";
import { encodeLedger } from "../base/codec_sums.ts";

/** Stores scores. */
export type ScoreStore = ReturnType<typeof createScoreStore>;

export function createScoreStore(store: Store) {
  return {
    /**
     * Adds a score to a run, which need not be open yet. Resolves once the score is on disk.
     *
     * @param reserved scores beyond the maximum that this caller may add
     */
    add({ id: team }: Team, id: RunId, request: ScoreRequest, receivedAt: number, reserved = 0) {
      const key = keys.score(team, id, request.id);
      const ledgerKey = keys.ledger(team, id);
      const add = () =>
        untilCommitted("add a score", async (): Promise<ScoreOutcome | typeof LOST> => {
          const [stored, entry] = await getMany(store, [key, ledgerKey]);
          if (tombstoneOf([entry?.value]) !== null) return DELETED;
          const existing = (stored?.value ?? null) as AddedScore | null;
          const current = ledgerOf(entry?.value);
          const { outcome, ledger } = decideScore(
            current,
            existing,
            request,
            receivedAt,
            reserved,
          );
          if (outcome.kind !== "stored" || ledger === undefined) return outcome;
          const committed = await commitParts({ store, team, id }, { ledger }, {
            // Every score changes the ledger, so its version proves that this score is still new.
            checks: [{ key: ledgerKey, versionstamp: entry?.versionstamp ?? null }],
            sets: [{ key, value: outcome.score }, { key: ledgerKey, value: encodeLedger(ledger) }],
          });
          return committed === null ? LOST : outcome;
        });
      return inTime(store.runLocks.take(pendingName(team, id), add), store.deadlines);
    },
  };
}

/** Reads the scores that were added to a run, in order of arrival. */
export async function readScores(
  { store, team, id, ledger }: RunWithLedger,
): Promise<AddedScore[]> {
  if (ledger.scores === undefined) return [];
  const rows = await listRows<AddedScore>(store, { prefix: keys.scores(team, id) });
  return inOrder(rows.map(({ value }) => value));
}
