/**
 * Looking at a run that is due: what is too old of it goes, and it is filed where it belongs now.
 *
 * A row says only when to look. What is to be done follows from the run as it is then, so a row too many
 * does no harm.
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

/** What a look comes to. */
export interface ExpiryPlan {
  /** To be committed. */
  readonly change: RunUpdate;
  /** What it removes. */
  readonly counts: SweepCounts;
  /** Whether rows are still to be purged. */
  readonly isPurged: boolean;
}

/** Whose runs are looked at, when, and how much of one run goes at once. */
export interface ExpiryContext {
  /** Whose runs. */
  readonly team: Planned & { readonly id: TeamId };
  /** The time, unix milliseconds. */
  readonly nowMs: number;
  /** Rows of one run's payload after which the rest is left to the next look. */
  readonly rowsMax: number;
}

/**
 * Plans what becomes of a run now.
 *
 * @param rows that the run was found under
 */
export async function planExpiry(
  store: Store,
  looking: ExpiryContext,
  run: SummarizedHead,
  rows: readonly Deno.KvKey[],
): Promise<ExpiryPlan> {
  const { counts, removal } = await removalOf(store, looking, run);
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
  { team: { id: team, ...planned }, nowMs, rowsMax }: ExpiryContext,
  run: SummarizedHead,
): Promise<{ readonly counts: SweepCounts; readonly removal: Removal }> {
  const { head, ledger } = run;
  if (!isStored(head)) return { counts: EMPTY_SWEEP, removal: nothing(run, []) };
  const plan = planOfTeam(planned);
  const filing = expiryEntryOf(head.parts, ledger);
  switch (dueOf(head.parts, ledger, plan, nowMs)) {
    case null: {
      const removal = nothing(run, [keys.expiry(team, filing, run.id)]);
      return { counts: EMPTY_SWEEP, removal };
    }
    case "record": {
      const removal = await expireRun(store, team, run);
      const whole = filing.horizon === "orphan" ? "orphans" : "records";
      return { counts: { ...EMPTY_SWEEP, events: removal.events, [whole]: 1 }, removal };
    }
    case "payload": {
      const beforeMs = cutoffOf(plan, filing.horizon, nowMs);
      const { isAll, ...removal } = await removePayload(store, team, run, beforeMs, rowsMax);
      // Of a run with very many events some go at a time: it is counted with the last.
      const payloads = isAll ? 1 : 0;
      return { counts: { ...EMPTY_SWEEP, payloads, events: removal.events }, removal };
    }
  }
}

/** Leaves a run as it is, filed under a row. */
function nothing(run: SummarizedHead, filed: readonly Deno.KvKey[]): Removal {
  const sets = filed.map((key) => ({ key, value: true }));
  const { summary } = run;
  const change = { run, before: summary, after: summary, rows: { sets, deletes: [] } };
  return { change, events: 0, receipt: null, isPurged: false };
}
