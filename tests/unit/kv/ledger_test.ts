/** The event ledger in the store: pages, restarts, cold caches, and more than one writer. */
import { readRun } from "../../support/builders/stored_runs.ts";
import { runStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId, RunId, TeamId } from "../../../domain/core/ids.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import type { AppendOutcome, RunStore } from "../../../domain/runs/run_store.ts";
import { keys } from "../../../kv/base/keys.ts";
import { eventId, runId } from "../../support/builders/requests.ts";
import { NOON } from "../../support/harness/harness.ts";
import { noise, TempStore } from "../../support/harness/temp_store.ts";

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "business" };
const ID = runId(1) as RunId;

function event(n: number, data = `{"n":${n}}`, fields: Partial<RunEvent> = {}): RunEvent {
  const id = eventId(n) as EventId;
  return { id, type: "log", ts: n, data: data as RawJson, facts: { error: false }, ...fields };
}

function range(from: number, count: number): RunEvent[] {
  return Array.from({ length: count }, (_, i) => event(from + i));
}

/** Reads all events of the run, page by page, in the order of reading. */
async function readAll(runs: RunStore): Promise<string[]> {
  const ids: string[] = [];
  for (let after = null;;) {
    const page = await readRun(runs, TEAM, ID, after, 300);
    ids.push(...page?.events.map(({ id }) => id) ?? []);
    after = page?.next ?? null;
    if (after === null) return ids;
  }
}

function storedCounts(outcome: AppendOutcome) {
  assert(outcome.kind === "stored");
  return outcome;
}

async function usage(temp: TempStore): Promise<number> {
  const key = keys.usage(TEAM.id, new Date(NOON).toISOString().slice(0, 7));
  const entry = await temp.store.reader.get<Deno.KvU64>(key);
  return Number(entry.value?.value ?? 0n);
}

TempStore.test("ledger: over 2,000 events each is stored once, across pages and restarts", async (temp) => {
  const total = 2_150;
  let accepted = 0, duplicates = 0, runs = runStoreOf(temp.store);
  for (let from = 0; from < total; from += 43) {
    if (from % 430 === 0) runs = runStoreOf(await temp.reopen());
    // Half of each batch was sent before: recently, or long ago on a sealed page.
    const repeated = [...range(Math.max(0, from - 3), Math.min(from, 3)), ...range(from >> 1, 2)];
    const input = [...range(from, 43), ...repeated];
    const counts = storedCounts(await runs.append(TEAM, ID, input, NOON));
    assertEquals(counts.accepted + counts.duplicates, input.length);
    accepted += counts.accepted;
    duplicates += counts.duplicates;
  }
  const pages = await temp.keysBelow(keys.page(TEAM.id, ID, 0).slice(0, -1));
  assert(pages.length >= Math.floor(total / 300), `${pages.length} pages`);
  const expected = range(0, total).map(({ id }) => id);
  assertEquals(await readAll(runs), expected);
  assertEquals([accepted, await usage(temp)], [total, total]);
  assertEquals((await readRun(runs, TEAM, ID, null, 1))?.totals.events, total);
  assert(duplicates > 0);
});

TempStore.test("ledger: two writers with their own caches never store an event twice", async (temp) => {
  const writers = [runStoreOf(temp.store), runStoreOf(temp.store)];
  let accepted = 0;
  for (let round = 0; round < 20; round++) {
    const counts = await Promise.all(
      writers.map((runs, i) => runs.append(TEAM, ID, range(round * 20 + i * 10, 30), NOON)),
    );
    accepted += counts.reduce((sum, count) => sum + storedCounts(count).accepted, 0);
  }
  // Rounds overlap: the last one ends at 19 × 20 + 10 + 30.
  const distinct = 420;
  assertEquals([accepted, await usage(temp)], [distinct, distinct]);
  assertEquals(new Set(await readAll(runStoreOf(temp.store))).size, distinct);
});

TempStore.test("ledger: pieces staged for a batch whose check was lost are removed", async (temp) => {
  const large = range(10, 8).map(({ id, ts }, i) =>
    event(Number(ts), JSON.stringify(noise(120_000, i + 1)), { id })
  );
  await runStoreOf(temp.store).append(TEAM, ID, [event(1)], NOON);
  // A writer with an empty cache tries "no ledger yet" first, and loses that check.
  const counts = await runStoreOf(temp.store).append(TEAM, ID, large, NOON);
  assertEquals(counts, { kind: "stored", accepted: 8, duplicates: 0, cost: 0n });
  const chunks = await temp.keysBelow(keys.chunks(TEAM.id, ID));
  assert(chunks.length > 10, `${chunks.length} pieces are not staged`);
  assertEquals(new Set(chunks.map((key) => key[3])).size, 1, "pieces of a lost commit remain");
  const run = await readRun(runStoreOf(await temp.reopen()), TEAM, ID, null, 50);
  const texts = run?.events.slice(1).map(({ data }) => JSON.parse(data));
  assertEquals(texts, large.map(({ data }) => JSON.parse(data)));
});

TempStore.test("ledger: a duplicate of a large batch sent to a cold writer leaves no piece behind", async (temp) => {
  const large = range(1, 8).map(({ id }, i) =>
    event(i + 1, JSON.stringify(noise(120_000, i + 1)), { id })
  );
  await runStoreOf(temp.store).append(TEAM, ID, large, NOON);
  const before = await Array.fromAsync(temp.store.reader.list({ prefix: [] }), ({ key }) => key);
  const counts = await runStoreOf(temp.store).append(TEAM, ID, large, NOON);
  assertEquals(counts, { kind: "stored", accepted: 0, duplicates: 8, cost: 0n });
  const after = await Array.fromAsync(temp.store.reader.list({ prefix: [] }), ({ key }) => key);
  assertEquals(after, before);
});

TempStore.test("ledger: after a commit of unknown outcome a retry counts each event once", async (temp) => {
  const { writer } = temp.store;
  let fault: "none" | "before" | "after" = "none";
  const commit: typeof writer.commit = async (write) => {
    if (fault === "before") throw new StorageUnavailable("not written");
    const version = await writer.commit(write);
    if (fault === "after") throw new StorageUnavailable("written, but nobody knows");
    return version;
  };
  const runs = runStoreOf({ ...temp.store, writer: { ...writer, commit } });
  let sentCount = 0;
  // Enough batches that commits of every outcome seal a page.
  for (let round = 0; round < 60; round++) {
    const batch = range(sentCount, 50);
    sentCount += batch.length;
    fault = (["none", "before", "after"] as const)[round % 3] ?? "none";
    if (fault !== "none") {
      await assertRejects(() => runs.append(TEAM, ID, batch, NOON), StorageUnavailable);
    }
    const accepted = fault === "after" ? 0 : batch.length;
    fault = "none";
    const counts = await runs.append(TEAM, ID, batch, NOON);
    const duplicates = batch.length - accepted;
    assertEquals(counts, { kind: "stored", accepted, duplicates, cost: 0n });
  }
  assertEquals((await readAll(runs)).length, sentCount);
  assertEquals(await usage(temp), sentCount);
});

TempStore.test("ledger: a run that was found shows its events as of then, page by page and from the end", async (temp) => {
  const runs = runStoreOf(temp.store);
  for (let from = 0; from < 400; from += 50) await runs.append(TEAM, ID, range(from, 50), NOON);
  const head = await runs.find(TEAM, ID);
  await runs.append(TEAM, ID, range(400, 50), NOON);
  assert(head !== null);
  const ids = (from: number, count: number) => range(from, count).map(({ id }) => id);
  const first = await head.page(null, 300);
  const second = await head.page(first.next, 300);
  assertEquals([first, second].flatMap(({ events }) => events.map(({ id }) => id)), ids(0, 400));
  assertEquals([second.next, head.totals.events], [null, 400]);
  const last = await head.last(60);
  assertEquals(last.events.map(({ id }) => id), ids(340, 60));
  assertEquals([last.next, last.after !== null], [null, true]);
  assertEquals((await head.last(1_000)).after, null);
  assertEquals((await (await runs.find(TEAM, ID))?.page(null, 1_000))?.events.length, 450);
  assertEquals(await runs.find(TEAM, runId(2) as RunId), null);
});
