/**
 * Changes the own rows of a team's rate card.
 *
 * @module
 */
import { getMany, newRowName, type Store } from "../store.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  isSameRate,
  rateCapRefusal,
  type RateSpec,
  rowFields,
} from "../../domain/pricing/rate_body.ts";
import type { OwnRate, PutRateOutcome } from "../../domain/pricing/rate_card.ts";
import { keys } from "../base/keys.ts";
import { nameOf, readRates } from "./rate_rows.ts";
import { auditRows } from "../teams/audit_log.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";

/**
 * Changes a team's own rows. Each change checks the version of the card, so that of two concurrent
 * changes the later one sees the result of the earlier one.
 */
export class RateWriter {
  readonly #store: Store;
  readonly #environment: Pick<Environment, "now">;
  readonly #locks = new KeyedMutex();

  constructor(store: Store, environment: Pick<Environment, "now">) {
    this.#store = store;
    this.#environment = environment;
  }

  /** See {@link RateCardStore.put}. */
  put(team: TeamId, spec: RateSpec, by: string): Promise<PutRateOutcome> {
    return this.#change(team, async () => {
      const key = keys.rate(team, nameOf(spec));
      const [stored, head] = await getMany(this.#store, [key, keys.rates(team)]);
      const current = (stored?.value ?? null) as OwnRate | null;
      if (current !== null && isSameRate(specOf(current), spec)) {
        return { kind: "replayed", rate: current } as const;
      }
      const count = Number(head?.value ?? 0);
      const refusal = current === null ? rateCapRefusal(count) : null;
      if (refusal !== null) return { kind: "refused", problem: refusal };
      const rate = newRate(spec, by, this.#environment.now());
      const before = current === null ? null : rowFields(current.row);
      const details = { before, after: rowFields(rate.row) };
      const committed = await this.#store.writer.commit({
        team,
        checks: [{ key: keys.rates(team), versionstamp: head?.versionstamp ?? null }],
        sets: [
          { key, value: rate },
          { key: keys.rates(team), value: current === null ? count + 1 : count },
          ...auditRows({
            at: rate.createdAt,
            team,
            actor: by,
            action: "rate.put",
            target: rate.row.id,
            details,
          }),
        ],
      });
      return committed === null ? LOST : { kind: "stored", rate };
    });
  }

  /** See {@link RateCardStore.delete}. */
  delete(team: TeamId, id: string, by: string): Promise<OwnRate | null> {
    return this.#change(team, async () => {
      const { rates, version } = await readRates(this.#store, team);
      const rate = rates.find(({ row }) => row.id === id);
      if (rate === undefined) return null;
      const committed = await this.#store.writer.commit({
        team,
        checks: [{ key: keys.rates(team), versionstamp: version }],
        sets: [
          { key: keys.rates(team), value: rates.length - 1 },
          ...auditRows({
            at: this.#environment.now(),
            team,
            actor: by,
            action: "rate.deleted",
            target: id,
            details: { before: rowFields(rate.row) },
          }),
        ],
        deletes: [keys.rate(team, nameOf(rate.row))],
      });
      return committed === null ? LOST : rate;
    });
  }

  /** Reads, decides and commits until the decision holds. */
  #change<T>(team: TeamId, attempt: () => Promise<T | typeof LOST>): Promise<T> {
    return this.#locks.take(team, () => untilCommitted("change a rate card", attempt));
  }
}

function newRate({ note, ...spec }: RateSpec, by: string, nowMs: number): OwnRate {
  const row: RateRow = { id: `rate_${newRowName()}`, source: "own", ...spec };
  return { row, createdAt: nowMs, createdBy: by, ...(note === undefined ? {} : { note }) };
}

function specOf({ row, note }: OwnRate): RateSpec {
  return { ...row, note };
}
