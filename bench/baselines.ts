/**
 * What the ledger is measured against: the plain way to store with Deno KV, each request in an atomic
 * operation of its own. Keys begin with the run's id, as the ledger's do, so that both insert side by
 * side; values are stored as they are, and large ones are not split.
 */
import type { Team } from "../domain/teams/team.ts";
import { decideFinish, type FinishRequest } from "../domain/runs/decide.ts";
import type { RunEvent } from "../domain/runs/event.ts";
import type { RunId } from "../domain/core/ids.ts";
import type { RunStore } from "../domain/runs/store.ts";
import type { Closing } from "../domain/runs/run.ts";
import { monthOf } from "../domain/core/time.ts";

const usageKey = (team: Team, at: number) => ["usage", team.id, monthOf(at)];
/** Keys one `getMany` takes. */
const KEYS_MAX = 10;

/** A store in which a finish is a commit with a queue message, and a batch one key for each event. */
export function createBaseline(kv: Deno.Kv): RunStore {
  return {
    finish: (...args) => finish(kv, ...args),
    append: (...args) => append(kv, ...args),
    open: notPart,
    heartbeat: notPart,
    read: notPart,
  };
}

/** Takes the messages that finishes send, as whatever works on finished runs would. */
export function consumeFinished(kv: Deno.Kv): void {
  kv.listenQueue(() => {});
}

function notPart(): Promise<never> {
  return Promise.reject(new Error("This call is no part of the baseline"));
}

async function finish(
  kv: Deno.Kv,
  team: Team,
  id: RunId,
  request: FinishRequest,
  receivedAt: number,
) {
  const key = ["run", id, team.id, "closing"];
  const { outcome, closing } = decideFinish({ opening: null, closing: null }, request, receivedAt);
  const { ok } = await kv.atomic()
    .check({ key, versionstamp: null })
    .sum(usageKey(team, receivedAt), 1n)
    .set(key, closing)
    .enqueue({ team: team.id, run: id })
    .commit();
  if (ok) return outcome;
  const stored = await kv.get<Closing>(key);
  return decideFinish({ opening: null, closing: stored.value }, request, receivedAt).outcome;
}

async function append(
  kv: Deno.Kv,
  team: Team,
  id: RunId,
  batch: readonly RunEvent[],
  receivedAt: number,
) {
  const keyOf = (event: RunEvent) => ["run", id, team.id, "event", event.id];
  const events = [...new Map(batch.map((event) => [event.id, event])).values()];
  let fresh = events;
  while (fresh.length > 0) {
    const operation = kv.atomic();
    for (const event of fresh) operation.check({ key: keyOf(event), versionstamp: null });
    operation.sum(usageKey(team, receivedAt), BigInt(fresh.length));
    for (const event of fresh) operation.set(keyOf(event), textOf(event, receivedAt));
    if ((await operation.commit()).ok) break;
    const known = await knownOf(kv, fresh.map(keyOf));
    fresh = fresh.filter((_, i) => !known[i]);
  }
  const duplicates = batch.length - fresh.length;
  return { kind: "stored" as const, accepted: fresh.length, duplicates };
}

async function knownOf(kv: Deno.Kv, keys: readonly Deno.KvKey[]): Promise<boolean[]> {
  const known: boolean[] = [];
  for (let at = 0; at < keys.length; at += KEYS_MAX) {
    const entries = await kv.getMany(keys.slice(at, at + KEYS_MAX));
    known.push(...entries.map(({ versionstamp }) => versionstamp !== null));
  }
  return known;
}

function textOf({ type, ts, turn, data }: RunEvent, receivedAt: number): string {
  const head = JSON.stringify({ type, ts, turn, received_at: receivedAt });
  return `${head.slice(0, -1)},"data":${data}}`;
}
