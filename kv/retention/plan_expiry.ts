/**
 * Plans the retention of one run: removes expired data and schedules the next check.
 *
 * An expiry entry says only when to check. What expires follows from the current run, so a stale
 * entry is harmless.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { cutoffOf, dueOf, expiryEntryOf } from "../../domain/retention/retention.ts";
import { EMPTY_SWEEP, type SweepCounts } from "../../domain/retention/sweep.ts";
import { type Planned, planOfTeam } from "../../domain/teams/plans.ts";
import { keyText } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { removePayload } from "./payload.ts";
import { expireRun, type Removal } from "./removal.ts";

/** The changes that retention makes to one run. */
export interface ExpiryPlan {
  readonly change: RunUpdate;
  readonly counts: SweepCounts;
  /** True if rows must be purged after the commit. */
  readonly isPurged: boolean;
}

/** Team, time and row limit of a check. */
export interface ExpiryContext {
  readonly team: Planned & { readonly id: TeamId };
  readonly nowMs: number;
  /** Payload rows of one run to remove; the next check removes the rest. */
  readonly rowsMax: number;
}

/**
 * Plans which data of a run expires now.
 *
 * @param rows expiry entries under which the run was found
 */
export async function planExpiry(
  store: Store,
  context: ExpiryContext,
  run: SummarizedHead,
  rows: readonly Deno.KvKey[],
): Promise<ExpiryPlan> {
  const { counts, removal } = await removalOf(store, context, run);
  const { change } = removal;
  const written = new Set(change.rows.sets.map(({ key }) => keyText(key)));
  const stale = rows.filter((key) => !written.has(keyText(key)));
  return {
    change: { ...change, rows: { ...change.rows, deletes: [...change.rows.deletes, ...stale] } },
    counts,
    isPurged: removal.isPurged,
  };
}

async function removalOf(
  store: Store,
  { team: { id: team, ...planned }, nowMs, rowsMax }: ExpiryContext,
  run: SummarizedHead,
): Promise<{ readonly counts: SweepCounts; readonly removal: Removal }> {
  const { head, ledger } = run;
  if (!isStored(head)) return { counts: EMPTY_SWEEP, removal: unchanged(run, []) };
  const plan = planOfTeam(planned);
  const entry = expiryEntryOf(head.parts, ledger);
  switch (dueOf(head.parts, ledger, plan, nowMs)) {
    case null: {
      const removal = unchanged(run, [keys.expiry(team, entry, run.id)]);
      return { counts: EMPTY_SWEEP, removal };
    }
    case "record": {
      const removal = await expireRun(store, team, run);
      const counter = entry.horizon === "orphan" ? "orphans" : "records";
      return { counts: { ...EMPTY_SWEEP, events: removal.events, [counter]: 1 }, removal };
    }
    case "payload": {
      const beforeMs = cutoffOf(plan, entry.horizon, nowMs);
      const { isAll, ...removal } = await removePayload(store, team, run, beforeMs, rowsMax);
      // A run with very many events takes several checks: it is counted at the last one.
      const payloads = isAll ? 1 : 0;
      return { counts: { ...EMPTY_SWEEP, payloads, events: removal.events }, removal };
    }
  }
}

/** Leaves a run unchanged, with the given expiry entries. */
function unchanged(run: SummarizedHead, entries: readonly Deno.KvKey[]): Removal {
  const sets = entries.map((key) => ({ key, value: true }));
  const { summary } = run;
  const change = { run, before: summary, after: summary, rows: { sets, deletes: [] } };
  return { change, events: 0, receipt: null, isPurged: false };
}
