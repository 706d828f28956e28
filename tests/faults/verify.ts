/** A ledger held against what clients were told, and against itself. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Team } from "../../domain/credentials.ts";
import { monthOf } from "../../domain/time.ts";
import { createCredentialStore } from "../../kv/teams/credentials.ts";
import { keys } from "../../kv/keys.ts";
import { openStore } from "../../kv/open.ts";
import { createRunStore } from "../../kv/runs/run_store.ts";
import type { Store } from "../../kv/store.ts";
import { eventId } from "../support/builders.ts";
import { EVENTS, type Load, type Script } from "./load.ts";
import { assertSumsAddUp } from "../support/pipeline.ts";
import type { Process } from "../support/process.ts";

/** Counted things that calls store: events, and each opening and close. */
interface Tally {
  acknowledged: number;
  sent: number;
}

/** What a ledger holds of what was sent to it. */
export interface Verified extends Readonly<Tally> {
  readonly stored: number;
}

/** What the worker may take for what another process left; far more than it does. */
const MARKS_MS_MAX = 10_000;

/**
 * Opens a store that no process has, and holds its content against what clients were told. Answers what
 * it holds.
 */
export async function verify(path: string, loads: readonly Load[]): Promise<Verified> {
  const store = await openStore(path);
  try {
    const environment = { now: () => Date.now(), random: (n: number) => new Uint8Array(n) };
    const credentials = createCredentialStore(store, environment, {
      region: "eu",
      refusedSecret: null,
    });
    const principal = await credentials.find(loads[0]?.key ?? "");
    assert(principal !== null);
    const runs = createRunStore(store);
    const counted: Tally = { acknowledged: 0, sent: 0 };
    let stored = 0;
    for (const each of loads.flatMap(({ scripts }) => scripts)) {
      stored += await verifyRun(runs, principal.team, each, counted);
    }
    const usage = await usageOf(store, principal.team);
    assertEquals(usage, stored, "usage is not what is stored");
    assert(counted.acknowledged <= usage && usage <= counted.sent, `${usage} is out of bounds`);
    return { ...counted, stored };
  } finally {
    await store.close();
  }
}

/** Checks one run part by part; answers how many things of it are stored. */
async function verifyRun(
  runs: ReturnType<typeof createRunStore>,
  team: Team,
  { id, calls }: Script,
  counted: Tally,
): Promise<number> {
  const run = await runs.read(team, id, null, 100);
  const opening = run?.parts.opening ?? null;
  const closing = run?.parts.closing ?? null;
  const ids = run?.events.map((event) => event.id) ?? [];
  let items = 0;
  let known = 0;
  for (const { stores, state } of calls) {
    const there = typeof stores === "number"
      ? ids.length >= stores
      : stores === "both"
      ? opening !== null && closing !== null
      : (stores === "opening" ? opening : closing) !== null;
    if (state === "acknowledged") assert(there, `${stores} of ${id} is lost`);
    if (state === "unsent") assert(!there, `${stores} of ${id} was never sent`);
    const size = typeof stores === "number" ? stores - known : 1;
    if (typeof stores === "number") known = stores;
    if (state !== "unsent") counted.sent += size;
    if (state === "acknowledged") counted.acknowledged += size;
    if (there) items += size;
  }
  // Nothing partial: whole batches, in order, each event once; a heartbeat with both its parts.
  assert([0, EVENTS.first, EVENTS.both].includes(ids.length), `${ids.length} events of ${id}`);
  assertEquals(ids, ids.map((_, n) => eventId(n) as typeof ids[number]));
  assertEquals(run?.totals.events ?? 0, ids.length);
  if (calls[0]?.stores === "both") assertEquals(opening === null, closing === null, id);
  return items;
}

async function usageOf(store: Store, team: Team): Promise<number> {
  const key = keys.usage(team.id, monthOf(Date.now()));
  const entry = await store.reader.get<Deno.KvU64>(key);
  return Number(entry.value?.value ?? 0n);
}

/** Resolves once no mark is left in the file of a running process. */
export async function noMarksLeft(path: string): Promise<void> {
  // The keys that begin with the text "dirty", as the store writes them.
  const count =
    "SELECT count(*) AS rows FROM kv WHERE k > x'02646972747900' AND k < x'02646972747901'";
  using database = new DatabaseSync(path, { readOnly: true });
  const statement = database.prepare(count);
  const startedMs = performance.now();
  while (statement.get()?.rows !== 0) {
    assert(performance.now() - startedMs < MARKS_MS_MAX, "marks are left");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Lets a process finish what waits, stops it, and fails unless the ledger is what clients were told and
 * every sum in it is that of its parts. Answers what it holds.
 */
export async function stopExact(
  process: Process,
  path: string,
  loads: readonly Load[],
): Promise<Verified> {
  await noMarksLeft(path);
  assertEquals((await process.stop()).code, 0);
  const verified = await verify(path, loads);
  await assertExact(path);
  return verified;
}

/** Fails unless every sum in a ledger that no process has is that of its parts. */
export async function assertExact(path: string): Promise<void> {
  const store = await openStore(path);
  try {
    await assertSumsAddUp(store);
  } finally {
    await store.close();
  }
}
