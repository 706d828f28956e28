/**
 * Stores scores: one row per score, counted by the run's ledger.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { DELETED } from "../../domain/runs/decide.ts";
import type { AddedScore } from "../../domain/runs/added_scores.ts";
import {
  decideScore,
  inOrder,
  type ScoreOutcome,
  type ScoreRequest,
  type ScoreStore,
} from "../../domain/runs/scores.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { pendingName } from "../writer/pending_mark.ts";
import type { LedgerAt } from "./heads.ts";
import { ledgerOf, tombstoneOf } from "./tombstone.ts";

/** Creates the store of scores. */
export function createScoreStore(store: Store): ScoreStore {
  return {
    add(team, id, request, receivedAt) {
      const name = pendingName(team.id, id);
      const add = () => addScore(store, team, id, request, receivedAt);
      return inTime(store.runLocks.take(name, add), store.deadlines);
    },
  };
}

/** Reads the scores that were added to a run, in order of arrival. */
export async function readScores({ store, team, id, ledger }: LedgerAt): Promise<AddedScore[]> {
  if (ledger.scores === undefined) return [];
  const rows = await listRows<AddedScore>(store, { prefix: keys.scores(team, id) });
  return inOrder(rows.map(({ value }) => value));
}

/** Reads, decides and commits until there is no conflict. */
function addScore(
  store: Store,
  team: Team,
  id: RunId,
  request: ScoreRequest,
  receivedAt: number,
): Promise<ScoreOutcome> {
  const key = keys.score(team.id, id, request.id);
  const ledgerKey = keys.ledger(team.id, id);
  return untilCommitted("add a score", async () => {
    const [stored, entry] = await getMany(store, [key, ledgerKey]);
    if (tombstoneOf([entry?.value]) !== null) return DELETED;
    const existing = (stored?.value ?? null) as AddedScore | null;
    const { outcome, ledger } = decideScore(ledgerOf(entry?.value), existing, request, receivedAt);
    if (outcome.kind !== "stored" || ledger === undefined) return outcome;
    const committed = await store.writer.commit({
      team: team.id,
      // Every score changes the ledger, so its version proves that this score is still new.
      checks: [{ key: ledgerKey, versionstamp: entry?.versionstamp ?? null }],
      sets: [{ key, value: outcome.score }, { key: ledgerKey, value: ledger }],
      pending: [{ lane: "open", name: pendingName(team.id, id) }],
    });
    return committed === null ? LOST : outcome;
  });
}
