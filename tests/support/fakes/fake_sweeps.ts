/** A store of sweeps without runs. */
import type { TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import {
  EMPTY_SWEEP,
  type ReadReport,
  type SweepClock,
  type SweepClockMove,
  type SweepReport,
  type SweepStep,
} from "../../../domain/retention/retention.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { TEAM } from "../builders/stored_runs.ts";
import type { SweepStore } from "../../../kv/retention/sweep_store.ts";

/** Sweeps that store reports but do no work, in a given number of steps. */
export class FakeSweeps implements SweepStore {
  readonly known = new Map<string, ReadReport>();
  failures = 0;
  clockMs = 0;
  ids: readonly TeamId[] = [TEAM.id, "other" as TeamId];

  constructor(readonly steps: number, readonly work: () => void = () => {}) {}

  async *forgetSessions(): AsyncGenerator<void> {
    this.work();
    yield;
  }

  clock(): Promise<SweepClock> {
    return Promise.resolve({ atMs: this.clockMs, version: String(this.clockMs) });
  }

  startClock(): Promise<void> {
    throw new Error("There is one already");
  }

  async *teams(after: TeamId | null): AsyncGenerator<Team> {
    const first = after === null ? 0 : this.ids.indexOf(after) + 1;
    for (const id of this.ids.slice(first)) yield { ...TEAM, id };
  }

  resume(): Promise<void> {
    return this.failures-- > 0
      ? Promise.reject(new StorageUnavailable("no disk"))
      : Promise.resolve();
  }

  step(...[, retentionClass, , from]: Parameters<SweepStore["step"]>): Promise<SweepStep> {
    this.work();
    const at = ((from as { at: number } | null)?.at ?? 0) + 1;
    const next = retentionClass !== "payload" || at === this.steps ? null : { at };
    return Promise.resolve({ counts: { ...EMPTY_SWEEP, payloads: 1 }, next });
  }

  report(night: string): Promise<ReadReport | null> {
    return Promise.resolve(this.known.get(night) ?? null);
  }

  reports(): Promise<readonly SweepReport[]> {
    return Promise.resolve([...this.known.values()].map(({ report }) => report));
  }

  saveReport(
    known: ReadReport | null,
    report: SweepReport,
    move?: SweepClockMove,
  ): Promise<ReadReport | null> {
    const now = this.known.get(report.night)?.version ?? null;
    if (now !== (known?.version ?? null)) return Promise.resolve(null);
    const next = { report, version: `${Number(now) + 1}` };
    this.known.set(report.night, next);
    if (move !== undefined) this.clockMs = move.toMs;
    return Promise.resolve(next);
  }
}
