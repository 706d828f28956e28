/**
 * Finds earlier calls of models without a price: a rule reports the first one in 30 days.
 *
 * @module
 */
import type { AlertSignal } from "../../domain/alerts/signal.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import type { ModelName } from "../../domain/runs/model_usage.ts";
import { keyPart } from "../index/names.ts";
import { keys } from "../base/keys.ts";
import { decodeRollup } from "../spend/rollups.ts";
import { getAll, type Store } from "../store.ts";

/** Days before a call, of which the roll-ups are read: a model in use is found in the first ones. */
const DAYS = [[0, 2], [2, 31]] as const;

/**
 * Returns whether all models that signals report were called without a price in the 30 days before,
 * by the roll-ups as stored.
 */
export async function wereUnpriced(
  store: Store,
  team: TeamId,
  signals: readonly AlertSignal[],
): Promise<boolean> {
  const models = new Map(
    signals.filter(({ outcome }) => outcome === "bad")
      .map(({ key, at }) => [key, at]),
  );
  for (const [model, atMs] of models) {
    if (!await wasUnpriced(store, team, model, atMs)) return false;
  }
  return models.size > 0;
}

async function wasUnpriced(
  store: Store,
  team: TeamId,
  model: string,
  atMs: number,
): Promise<boolean> {
  const parts = namesOf(model).map((value) => keyPart({ kind: "model", value }));
  for (const [from, to] of DAYS) {
    const days = Array.from({ length: to - from }, (_, i) => dayOf(atMs - (from + i) * DAY_MS));
    const rows = await getAll(
      store,
      days.flatMap((day) => parts.map((part) => keys.rollup(team, "model", day, part))),
    );
    const isCalled = rows.some(({ key, value }) =>
      value instanceof Uint8Array &&
      decodeRollup(String(key[3]), value).measures.unpricedCalls > 0
    );
    if (isCalled) return true;
  }
  return false;
}

/** Returns the models that a name may stand for: `provider/model`, or the model alone. */
function namesOf(name: string): ModelName[] {
  const at = name.indexOf("/");
  const alone = { provider: null, model: name };
  if (at <= 0) return [alone];
  return [{ provider: name.slice(0, at), model: name.slice(at + 1) }, alone];
}
