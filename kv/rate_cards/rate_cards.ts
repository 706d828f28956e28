/**
 * Stores teams' rate cards: own rows in the store, complete cards in memory.
 *
 * Every model call is priced on arrival, so a cached card is returned without waiting.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Environment } from "../../domain/core/environment.ts";
import { createRateCard, NAMES_BYTES_MAX, type OwnRate } from "../../domain/pricing/rate_card.ts";
import type { RateSpec } from "../../domain/pricing/rate_body.ts";
import { NAME_CHARS_MAX } from "../../domain/pricing/model_names.ts";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { PricedModels } from "../../domain/pricing/nearest_model.ts";
import type { RateCard, RateRow } from "../../domain/pricing/rates.ts";
import { BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { inTime } from "../base/retry.ts";
import { outsideScope } from "../base/reads.ts";
import type { Store } from "../store.ts";
import { KeyedMutex } from "../../runtime/fair_slots.ts";
import { createRateWriter, readRates, versionOf } from "./own_rates.ts";

/** Cache lifetime of a card: half of the time in which another process must notice a change. */
const CACHE_MS = 5_000;

/** Fraction of the memory share for names looked up by teams without own rows. */
const NAMES_PART = 0.25;

/** Bytes of a card without own rows, of a row without its names, and of a tier. */
const CARD_BYTES = 300, ROW_BYTES = 1_000, TIER_BYTES = 150;

/** Copies of a model's name in memory: in the row and in each index. */
const NAMES_OF_MODEL = 4;

/** A team's card and the version of its rows. */
interface LoadedCard {
  readonly card: RateCard;
  /** Returns its priced models, indexed on first use. */
  readonly models: () => PricedModels;
  readonly version: string | null;
  readonly bytes: number;
}

/** Reads of a card that take at least this many milliseconds are followed by a pause. */
const REST_FROM_MS = 5;

/** Maximum teams with a recorded pause; beyond it, all pauses end. */
const RESTS_MAX = 10_000;

/** Store of all teams' rate cards. */
export type RateCardStore = ReturnType<typeof createRateCardStore>;

/** Creates the store. A change takes effect immediately here, within 10 s in other processes. */
export function createRateCardStore(store: Store, environment: Pick<Environment, "now">) {
  const writer = createRateWriter(store, environment);
  const { memory } = store;
  const cards = createByteCache<TeamId, LoadedCard>({
    memory,
    share: "rate_cards",
    part: 1 - NAMES_PART,
    bytesOf: ({ bytes }, team) => bytes + BYTES_PER_CHAR * team.length,
    // The largest card must fit: reading it for every call would take longest.
    entryBytesMax: memory.bytesMax("rate_cards"),
    ttl: CACHE_MS,
    // A stale card keeps its version: usually nothing has changed and it is not read again.
    noDeleteOnStaleGet: true,
  });
  /** Reads in flight, shared by concurrent callers. */
  const loading = new Map<TeamId, Promise<LoadedCard>>();
  // Nearly all teams have no own rows and share one card.
  const namesBytesMax = memory.bytesMax("rate_cards") * NAMES_PART;
  const card = createRateCard([], namesBytesMax);
  memory.register("rate_cards", () => card.namesBytes);
  let indexed: PricedModels | null = null;
  const unchanged = { card, models: () => indexed ??= new PricedModels(DEFAULT_RATES.rows) };

  /** Reads cards of one team sequentially, so that frequent changes cause one read at a time. */
  const turns = new KeyedMutex(store.deadlines);
  /** Earliest next read by team: reading cards takes at most half of the time. */
  const restsUntilMs = new Map<TeamId, number>();

  /** Reads a card in its turn; null if a change has made the read obsolete. */
  async function readInTurn(team: Pick<Team, "id">, isWanted: () => boolean) {
    const restMs = (restsUntilMs.get(team.id) ?? 0) - performance.now();
    if (restMs > 0) await sleep(restMs);
    if (!isWanted()) return null;
    const startMs = performance.now();
    const cached = cards.peek(team.id, { allowStale: true }) ?? null;
    const card = await readCard(store, team, cached, unchanged);
    const endMs = performance.now();
    if (restsUntilMs.size >= RESTS_MAX) restsUntilMs.clear();
    if (endMs - startMs >= REST_FROM_MS) restsUntilMs.set(team.id, 2 * endMs - startMs);
    return card;
  }

  function load(team: Pick<Team, "id">): Promise<LoadedCard> {
    let read: Promise<LoadedCard> | null = null;
    // A free lock starts the work before `read` is assigned.
    const isWanted = () => read === null || loading.get(team.id) === read;
    // Several requests share the read, so it must not end with one of them.
    const reading = outsideScope(() => turns.take(team.id, () => readInTurn(team, isWanted)));
    read = inTime(reading, store.deadlines)
      .then((card) => card ?? loaded(team))
      .then((loaded) => {
        // A read that a change has overtaken is not cached.
        if (loading.get(team.id) === read) cards.set(team.id, loaded);
        return loaded;
      })
      .finally(() => {
        if (loading.get(team.id) === read) loading.delete(team.id);
      });
    loading.set(team.id, read);
    return read;
  }

  function loaded(team: Pick<Team, "id">): Promise<LoadedCard> {
    return loading.get(team.id) ?? load(team);
  }

  /** Runs a change of a card and clears the cache, so that later callers read the new card. */
  async function changeCard<T>(team: Team, change: () => Promise<T>): Promise<T> {
    try {
      return await inTime(change(), store.deadlines);
    } finally {
      // Also after a failure: the write may still have happened.
      loading.delete(team.id);
      cards.delete(team.id);
    }
  }

  return {
    /** Returns the team's current card, synchronously if it is cached. */
    card: (team: Pick<Team, "id">): RateCard | Promise<RateCard> =>
      cards.get(team.id)?.card ?? loaded(team).then(({ card }) => card),
    /** Returns the team's card as it is stored now, with the changes of other processes. */
    current: async (team: Pick<Team, "id">): Promise<RateCard> => (await load(team)).card,
    /** Returns the priced models of the team's card, own and default. */
    models: async (team: Pick<Team, "id">) => (cards.get(team.id) ?? await loaded(team)).models(),
    /** Returns the team's own rows as stored, by model, provider and date. */
    rows: async ({ id }: Team): Promise<readonly OwnRate[]> =>
      (await store.reads.run(id, () => readRates(store, id))).rates,
    /** Stores a row and replaces the one for the same provider, model and date. Idempotent. */
    put: (team: Team, spec: RateSpec, by: string) =>
      changeCard(team, () => writer.put(team.id, spec, by)),
    /** Deletes an own row; null if the team has none with this id. */
    delete: (team: Team, id: string, by: string) =>
      changeCard(team, () => writer.delete(team.id, id, by)),
  };
}

/** Reads a team's card; returns `cached` if its version is unchanged. */
async function readCard(
  store: Store,
  team: Pick<Team, "id">,
  cached: LoadedCard | null,
  unchanged: Pick<LoadedCard, "card" | "models">,
): Promise<LoadedCard> {
  if (cached !== null && await versionOf(store, team.id) === cached.version) return cached;
  const { rates, version } = await readRates(store, team.id);
  if (rates.length === 0) {
    return { ...unchanged, version, bytes: CARD_BYTES };
  }
  // Longer names are never looked up.
  const rows = rates.map(({ row }) => row).filter(({ model }) => model.length <= NAME_CHARS_MAX);
  let indexed: PricedModels | null = null;
  return {
    card: createRateCard(rows),
    models: () => indexed ??= new PricedModels(rows, unchanged.models()),
    version,
    bytes: rows.reduce((sum, row) => sum + bytesOfRow(row), CARD_BYTES + NAMES_BYTES_MAX),
  };
}

function bytesOfRow({ provider, model, tiers }: RateRow): number {
  const chars = (provider?.length ?? 0) + NAMES_OF_MODEL * model.length;
  return ROW_BYTES + TIER_BYTES * tiers.length + BYTES_PER_CHAR * chars;
}
