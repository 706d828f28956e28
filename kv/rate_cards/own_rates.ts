/**
 * Own rows of a team's rate card: one per rate, and one whose version is the version of the card.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { kindName } from "../../domain/alerts/signal.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Environment } from "../../domain/core/environment.ts";
import {
  isSameRate,
  type RateSpec,
  refuseFullCard,
  rowFields,
} from "../../domain/pricing/rate_body.ts";
import type { OwnRate, PutRateOutcome } from "../../domain/pricing/rate_card.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { KeyedMutex } from "../../runtime/fair_slots.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import { workSet } from "../work/store.ts";
import { getEntry, getMany, listRows, newRowName, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";

/** A team's own rows at one version; the version is null before the first row. */
interface OwnRates {
  readonly rates: readonly OwnRate[];
  readonly version: string | null;
}

/**
 * Reads all own rows at one version. The runtime reads a list in several steps, so it is valid only
 * if the version did not change meanwhile.
 */
export async function readRates(store: Store, team: TeamId): Promise<OwnRates> {
  let before = await versionOf(store, team);
  return await untilCommitted("read a rate card", async () => {
    const version = before;
    if (version === null) return { rates: [], version };
    const entries = await listRows(store, { prefix: keys.rates(team) });
    before = await versionOf(store, team);
    if (before !== version) return LOST;
    return { rates: entries.map(({ value }) => value as OwnRate).sort(byName), version };
  });
}

export async function versionOf(store: Store, team: TeamId): Promise<string | null> {
  return (await getEntry(store, keys.rates(team))).versionstamp;
}

/** Orders rows by model, provider and date. */
function byName({ row: a }: OwnRate, { row: b }: OwnRate): number {
  return compare(a.model, b.model) || compare(a.provider ?? "", b.provider ?? "") ||
    compare(a.from ?? -1, b.from ?? -1);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Returns the hash that identifies a row in its key. It ignores case, as matching does; the names
 * are hashed because two of maximum length would not fit a key.
 */
function nameOf({ provider, model, from }: Pick<RateRow, "provider" | "model" | "from">) {
  const name = JSON.stringify([provider?.toLowerCase() ?? null, model.toLowerCase(), from]);
  return new Uint8Array(createHash("sha256").update(name).digest());
}

/**
 * Creates the functions that change teams' own rows. Each change checks the version of the card, so
 * the later of two concurrent changes sees the result of the earlier one.
 */
export function createRateWriter(store: Store, { now }: Pick<Environment, "now">) {
  const locks = new KeyedMutex();

  /** Reads, decides and commits until the decision holds. */
  function change<T>(team: TeamId, attempt: () => Promise<T | typeof LOST>): Promise<T> {
    return untilCommittedInTime(
      "change a rate card",
      store.deadlines,
      attempt,
      (work) => locks.take(team, work),
    );
  }

  return {
    put: (team: TeamId, spec: RateSpec, by: string) =>
      change<PutRateOutcome>(team, async () => {
        const key = keys.rate(team, nameOf(spec));
        const [stored, head] = await getMany(store, [key, keys.rates(team)]);
        const current = (stored?.value ?? null) as OwnRate | null;
        if (current !== null && isSameRate(specOf(current), spec)) {
          return { kind: "replayed", rate: current };
        }
        const count = Number(head?.value ?? 0);
        if (current === null) refuseFullCard(count);
        const rate = newRate(spec, by, now());
        const { createdAt: at, row } = rate;
        const before = current === null ? null : rowFields(current.row);
        const details = { before, after: rowFields(row) };
        const committed = await store.writer.commit({
          team,
          checks: [{ key: keys.rates(team), versionstamp: head?.versionstamp ?? null }],
          sets: [
            { key, value: rate },
            { key: keys.rates(team), value: current === null ? count + 1 : count },
            ...auditRows({ at, team, actor: by, action: "rate.put", target: row.id, details }),
            // A model may have a price now.
            workSet({ at, kind: "rule", team, name: kindName("unpriced") }),
          ],
        });
        return committed === null ? LOST : { kind: "stored", rate };
      }),

    delete: (team: TeamId, id: string, by: string) =>
      change<OwnRate | null>(team, async () => {
        const { rates, version } = await readRates(store, team);
        const rate = rates.find(({ row }) => row.id === id);
        if (rate === undefined) return null;
        const details = { before: rowFields(rate.row) };
        const entry = { at: now(), team, actor: by, action: "rate.deleted", target: id } as const;
        const committed = await store.writer.commit({
          team,
          checks: [{ key: keys.rates(team), versionstamp: version }],
          sets: [
            { key: keys.rates(team), value: rates.length - 1 },
            ...auditRows({ ...entry, details }),
          ],
          deletes: [keys.rate(team, nameOf(rate.row))],
        });
        return committed === null ? LOST : rate;
      }),
  };
}

function newRate({ note, ...spec }: RateSpec, by: string, nowMs: number): OwnRate {
  const row: RateRow = { id: `rate_${newRowName()}`, source: "own", ...spec };
  return { row, createdAt: nowMs, createdBy: by, ...(note === undefined ? {} : { note }) };
}

function specOf({ row, note }: OwnRate): RateSpec {
  return { ...row, note };
}
