/**
 * The rate cards of teams: their own rows in the store, whole cards in memory.
 *
 * Every call of a model is priced on the way in, so a card that is in memory answers without waiting.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Environment } from "../../domain/core/environment.ts";
import {
  createRateCard,
  NAMES_BYTES_MAX,
  type OwnRate,
  type PutRateOutcome,
  type RateCardStore,
} from "../../domain/pricing/rate_card.ts";
import { isSameRate, rateCapRefusal, type RateSpec } from "../../domain/pricing/rate_body.ts";
import { rowFields } from "../../domain/pricing/rate_fields.ts";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { NAME_CHARS_MAX } from "../../domain/pricing/model_names.ts";
import { defaultModels, PricedModels } from "../../domain/pricing/nearest_model.ts";
import type { RateCard, RateRow } from "../../domain/pricing/rates.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";
import { inTime } from "../base/deadline.ts";
import { outsideScope } from "../base/read_scope.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getEntry, getMany, listRows, newRowName, type Store } from "../store.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { auditRows } from "../teams/audit_log.ts";

/** How long a card is not looked at again: half of what another process may take to notice a change. */
const CACHE = {
  ttl: 5_000,
  ttlResolution: 0,
  // What is stale has a version still: usually nothing has changed, and it need not be read again.
  noDeleteOnStaleGet: true,
} as const;

/** Part of the share that names may take which teams without own rows asked for; the rest is for cards. */
const NAMES_PART = 0.25;

/** Bytes of a card without own rows, of a row without its names, and of a tier. */
const CARD_BYTES = 300, ROW_BYTES = 1_000, TIER_BYTES = 150;

/** How often the name of a row's model is in memory: in the row, and in each index. */
const NAMES_OF_MODEL = 4;

/** A team's card, and the version of the rows it was made of. */
interface Loaded {
  readonly card: RateCard;
  /** Its priced models, indexed when they are first asked for. */
  readonly models: () => PricedModels;
  readonly version: string | null;
  readonly bytes: number;
}

/** A team's own rows at one version; null before the first. */
interface OwnRates {
  readonly rates: readonly OwnRate[];
  readonly version: string | null;
}

/** Milliseconds from which reading a card is followed by a rest. */
const REST_FROM_MS = 5;

/** Teams whose rest is remembered; beyond that all rests are over. */
const RESTS_MAX = 10_000;

/** Creates the store of rate cards. */
export function createRateCardStore(
  store: Store,
  environment: Pick<Environment, "now">,
): RateCardStore {
  const writer = new RateWriter(store, environment);
  const { memory } = store;
  const cards = new ByteCache<TeamId, Loaded>({
    memory,
    share: "rate_cards",
    part: 1 - NAMES_PART,
    bytesOf: ({ bytes }, team) => bytes + BYTES_PER_CHAR * team.length,
    // The largest card has its place too: reading it for every call would take longest.
    entryBytesMax: memory.bytesMax("rate_cards"),
  }, CACHE);
  /** Reads under way, which everybody who asks meanwhile shares. */
  const loading = new Map<TeamId, Promise<Loaded>>();
  // Nearly all teams have no rows, and for them there is one card.
  const namesBytesMax = memory.bytesMax("rate_cards") * NAMES_PART;
  const unchanged = createRateCard([], DEFAULT_RATES, namesBytesMax);
  memory.register("rate_cards", () => unchanged.namesBytes);

  /** Cards of one team are read one after another: a team that changes its card all the time has one. */
  const turns = new KeyedMutex(store.deadlines);
  /** When a team's next card may be read: half of the time at most goes into reading them. */
  const restsUntilMs = new Map<TeamId, number>();

  /** Reads a card in its turn; null when a change made it of no use before that. */
  async function readInTurn(team: Pick<Team, "id">, isWanted: () => boolean) {
    const restMs = (restsUntilMs.get(team.id) ?? 0) - performance.now();
    if (restMs > 0) await sleep(restMs);
    if (!isWanted()) return null;
    const startMs = performance.now();
    const card = await readCard(store, team, cards.peekStale(team.id) ?? null, unchanged);
    const endMs = performance.now();
    if (restsUntilMs.size >= RESTS_MAX) restsUntilMs.clear();
    if (endMs - startMs >= REST_FROM_MS) restsUntilMs.set(team.id, 2 * endMs - startMs);
    return card;
  }

  function load(team: Pick<Team, "id">): Promise<Loaded> {
    let read: Promise<Loaded> | null = null;
    // A turn that is free begins before the read is known.
    const isWanted = () => read === null || loading.get(team.id) === read;
    // Several requests may wait for it, so it must not end with one of them.
    const reading = outsideScope(() => turns.take(team.id, () => readInTurn(team, isWanted)));
    read = inTime(reading, store.deadlines)
      .then((found) => found ?? loaded(team))
      .then((loaded) => {
        // A read that a change overtook is not remembered.
        if (loading.get(team.id) === read) cards.set(team.id, loaded);
        return loaded;
      })
      .finally(() => {
        if (loading.get(team.id) === read) loading.delete(team.id);
      });
    loading.set(team.id, read);
    return read;
  }

  function loaded(team: Pick<Team, "id">): Promise<Loaded> {
    return loading.get(team.id) ?? load(team);
  }

  /** Does what may change a card; whoever asks afterwards gets the card as it then is. */
  async function changing<T>(team: Team, change: () => Promise<T>): Promise<T> {
    try {
      return await inTime(change(), store.deadlines);
    } finally {
      // Also after a failure: what became of the write is unknown.
      loading.delete(team.id);
      cards.delete(team.id);
    }
  }

  return {
    card: (team) => cards.get(team.id)?.card ?? loaded(team).then(({ card }) => card),
    models: async (team) => (cards.get(team.id) ?? await loaded(team)).models(),
    rows: async (team) => (await store.reads.run(team.id, () => readRates(store, team.id))).rates,
    put: (team, spec, by) => changing(team, () => writer.put(team.id, spec, by)),
    delete: (team, id, by) => changing(team, () => writer.delete(team.id, id, by)),
  };
}

/**
 * Changes a team's own rows. Each change checks the version of the whole card, so that of two at once
 * the later decides by what the earlier left.
 */
class RateWriter {
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
      const known = (stored?.value ?? null) as OwnRate | null;
      if (known !== null && isSameRate(specOf(known), spec)) {
        return { kind: "replayed", rate: known } as const;
      }
      const count = Number(head?.value ?? 0);
      const refusal = known === null ? rateCapRefusal(count) : null;
      if (refusal !== null) return { kind: "refused", problem: refusal };
      const rate = newRate(spec, by, this.#environment.now());
      const before = known === null ? null : rowFields(known.row);
      const details = { before, after: rowFields(rate.row) };
      const committed = await this.#store.writer.commit({
        team,
        checks: [{ key: keys.rates(team), versionstamp: head?.versionstamp ?? null }],
        sets: [
          { key, value: rate },
          { key: keys.rates(team), value: known === null ? count + 1 : count },
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
  const { provider, model, from, rates, tiers, batchPercent } = spec;
  const id = `rate_${newRowName()}`;
  const row: RateRow = {
    ...{ id, source: "own", provider, model, from, rates, tiers },
    ...batchPercent === undefined ? {} : { batchPercent },
  };
  return { row, createdAt: nowMs, createdBy: by, ...(note === undefined ? {} : { note }) };
}

function specOf({ row, note }: OwnRate): RateSpec {
  return { ...row, note };
}

/** Reads a team's card; the known one if nothing has changed since. */
async function readCard(
  store: Store,
  team: Pick<Team, "id">,
  known: Loaded | null,
  unchanged: RateCard,
): Promise<Loaded> {
  if (known !== null && await versionOf(store, team.id) === known.version) return known;
  const { rates, version } = await readRates(store, team.id);
  if (rates.length === 0) {
    return { card: unchanged, models: defaultModels, version, bytes: CARD_BYTES };
  }
  // A longer name is never looked for.
  const rows = rates.map(({ row }) => row).filter(({ model }) => model.length <= NAME_CHARS_MAX);
  let indexed: PricedModels | null = null;
  return {
    card: createRateCard(rows),
    models: () => indexed ??= new PricedModels(rows, defaultModels()),
    version,
    bytes: rows.reduce((sum, row) => sum + bytesOfRow(row), CARD_BYTES + NAMES_BYTES_MAX),
  };
}

/**
 * Reads all own rows of one version. A list is read in several steps between which rows may change,
 * and it counts only if they have not.
 */
async function readRates(store: Store, team: TeamId): Promise<OwnRates> {
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

async function versionOf(store: Store, team: TeamId): Promise<string | null> {
  return (await getEntry(store, keys.rates(team))).versionstamp;
}

function bytesOfRow({ provider, model, tiers }: RateRow): number {
  const chars = (provider?.length ?? 0) + NAMES_OF_MODEL * model.length;
  return ROW_BYTES + TIER_BYTES * tiers.length + BYTES_PER_CHAR * chars;
}

/** The order rows are listed in: by model, provider and date. */
function byName({ row: a }: OwnRate, { row: b }: OwnRate): number {
  return compare(a.model, b.model) || compare(a.provider ?? "", b.provider ?? "") ||
    compare(a.from ?? -1, b.from ?? -1);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * What names a row in its key. Names are matched whatever their case, so case makes no other row; they
 * are hashed because two of the longest would not fit a key.
 */
function nameOf({ provider, model, from }: Pick<RateRow, "provider" | "model" | "from">) {
  const name = JSON.stringify([provider?.toLowerCase() ?? null, model.toLowerCase(), from]);
  return new Uint8Array(createHash("sha256").update(name).digest());
}
