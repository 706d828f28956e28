/**
 * Looking at a run that is due: what is too old of it goes, and it is filed where it belongs now.
 *
 * A row says only when to look. What is to be done follows from the run as it is then, so a row too many
 * does no harm.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import { cutoffOf, filingOf } from "../../domain/retention/retention.ts";
import { NOTHING_SWEPT, type SweepCounts } from "../../domain/retention/sweep.ts";
import type { Tier } from "../../domain/plan/tiers.ts";
import { keyText } from "../writer/group.ts";
import { keys } from "../keys.ts";
import type { Change } from "../pipeline/team_commits.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { removePayload } from "./payload.ts";
import { expireRun, type Removal } from "./removal.ts";

/** What a look comes to. */
export interface Look {
  /** To be committed. */
  readonly change: Change;
  /** What it removes. */
  readonly counts: SweepCounts;
  /** Whether rows are still to be purged. */
  readonly isPurged: boolean;
}

/**
 * Plans what becomes of a run now.
 *
 * @param rows that the run was found under
 */
export async function lookAt(
  store: Store,
  team: { readonly id: TeamId; readonly tier: Tier },
  run: SummarizedHead,
  rows: readonly Deno.KvKey[],
  nowMs: number,
): Promise<Look> {
  const { counts, removal } = await removalOf(store, team, run, nowMs);
  const { change } = removal;
  const written = new Set(change.rows.sets.map(({ key }) => keyText(key)));
  const gone = rows.filter((key) => !written.has(keyText(key)));
  return {
    change: { ...change, rows: { ...change.rows, deletes: [...change.rows.deletes, ...gone] } },
    counts,
    isPurged: removal.isPurged,
  };
}

async function removalOf(
  store: Store,
  { id: team, tier }: { readonly id: TeamId; readonly tier: Tier },
  run: SummarizedHead,
  nowMs: number,
): Promise<{ readonly counts: SweepCounts; readonly removal: Removal }> {
  const { head, ledger } = run;
  if (!isStored(head)) return { counts: NOTHING_SWEPT, removal: nothing(run, []) };
  const filing = filingOf(head.parts, ledger);
  const beforeMs = cutoffOf(tier, filing.horizon, nowMs);
  if (filing.since >= beforeMs) {
    const removal = nothing(run, [keys.expiry(team, filing, run.id)]);
    return { counts: NOTHING_SWEPT, removal };
  }
  const isOrphan = filing.horizon === "orphan";
  if (filing.horizon === "record" || (isOrphan && latestOf(run) < beforeMs)) {
    const removal = await expireRun(store, team, run);
    // Events whose payload went before are not counted twice.
    const events = ledger.oldestAt === null ? 0 : removal.events;
    const counts = { ...NOTHING_SWEPT, events, [isOrphan ? "orphans" : "records"]: 1 };
    return { counts, removal };
  }
  const removal = await removePayload(store, team, run, beforeMs);
  return { counts: { ...NOTHING_SWEPT, payloads: 1, events: removal.events }, removal };
}

/** Arrival of the latest part of a run. */
function latestOf({ head: { parts: { opening, closing } }, ledger }: SummarizedHead): number {
  return Math.max(opening?.receivedAt ?? 0, closing?.receivedAt ?? 0, ledger.latestAt ?? 0);
}

/** Leaves a run as it is, filed under a row. */
function nothing(run: SummarizedHead, filed: readonly Deno.KvKey[]): Removal {
  const sets = filed.map((key) => ({ key, value: true }));
  const { summary } = run;
  const change = { run, before: summary, after: summary, rows: { sets, deletes: [] } };
  return { change, events: 0, isPurged: false };
}
