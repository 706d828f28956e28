/** Model of the data that remains of aging runs, written from decisions 18 and 40 alone. */
import type { EventId } from "../../../domain/core/ids.ts";
import { type Tier, TIERS } from "../../../domain/teams/plans.ts";
import { EMPTY_SWEEP, type SweepCounts } from "../../../domain/retention/retention.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { DAY_MS } from "../harness/retention_harness.ts";

const ORPHAN_DAYS = 7;

/** An opening or a close. */
interface PartModel {
  readonly at: number;
  payload: boolean;
  isStripped?: boolean;
}

/** A batch of events; without its ids after its payload was removed. */
interface BatchModel {
  readonly at: number;
  ids: readonly EventId[] | null;
}

/** A run by its stored parts and their times. */
export class RunModel {
  opening: PartModel | null = null;
  closing: PartModel | null = null;
  batches: BatchModel[] = [];
  /** Known ids, including those of removed events. */
  readonly known = new Set<EventId>();
  get isStripped(): boolean {
    return [this.opening, this.closing].some((part) => part?.isStripped === true) ||
      this.batches.some(({ ids }) => ids === null);
  }

  append(ids: readonly EventId[], at: number): number {
    const fresh = [...new Set(ids)].filter((id) => !this.known.has(id));
    if (fresh.length > 0) this.batches.push({ at, ids: fresh });
    for (const id of fresh) this.known.add(id);
    return fresh.length;
  }

  get isStored(): boolean {
    return this.arrivals.length > 0;
  }

  get arrivals(): number[] {
    return [this.opening, this.closing, ...this.batches].flatMap((part) => part?.at ?? []);
  }

  /** Ids of its remaining events, in order of arrival. */
  get events(): EventId[] {
    return this.batches.flatMap(({ ids }) => ids ?? []);
  }

  sweep(tier: Tier, nowMs: number): SweepCounts {
    const { payloadDays, recordDays } = TIERS[tier];
    const isOrphan = this.opening === null;
    const isOld = (at: number, days: number) => at < nowMs - days * DAY_MS;
    if (!this.isStored) return EMPTY_SWEEP;
    if (isOld(Math.max(...this.arrivals), isOrphan ? ORPHAN_DAYS : recordDays)) {
      const events = this.events.length;
      this.#forget();
      return { ...EMPTY_SWEEP, events, [isOrphan ? "orphans" : "records"]: 1 };
    }
    const days = isOrphan ? ORPHAN_DAYS : payloadDays;
    let [payloads, events] = [0, 0];
    for (const batch of this.batches.filter(({ at, ids }) => ids !== null && isOld(at, days))) {
      events += batch.ids?.length ?? 0;
      batch.ids = null;
      payloads = 1;
    }
    for (const part of [this.opening, this.closing]) {
      if (part === null || !part.payload || !isOld(part.at, days)) continue;
      part.payload = false;
      part.isStripped = true;
      payloads = 1;
    }
    return { ...EMPTY_SWEEP, payloads, events };
  }

  #forget(): void {
    [this.opening, this.closing, this.batches] = [null, null, []];
    this.known.clear();
  }
}

/** Runs of a team, and its usage. */
export class TeamModel {
  readonly runs: readonly RunModel[];
  readonly usage = new Map<string, number>();

  constructor(readonly tier: Tier, runs: number) {
    this.runs = Array.from({ length: runs }, () => new RunModel());
  }

  /** Counts stored calls and events; the count never decreases. */
  count(at: number, by: number): void {
    if (by > 0) this.usage.set(monthOf(at), (this.usage.get(monthOf(at)) ?? 0) + by);
  }

  sweep(nowMs: number): SweepCounts[] {
    return this.runs.map((run) => run.sweep(this.tier, nowMs));
  }
}
